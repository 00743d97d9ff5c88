import { object, opt, req, string } from '../../../schema/builder.ts'
import { shortString } from '../../../schema/scalars.ts'
import { defineProvider } from './provider.ts'

export const vertex = defineProvider({
  key: 'vertex',
  telemetryName: 'gcp.vertex_ai',
  doc: 'Google Vertex AI.',
  settings: object('vertex provider', {
    model: opt(shortString, 'Model to use instead of the one that the request names.'),
    region: opt(string({ min: 1, max: 63 }), 'Region; the global endpoint when unset.'),
    projectId: req(string({ min: 1 }), 'Google Cloud project.'),
  }),
  unserved: 'Vertex AI is not called yet: its paths name the model and its tokens come from Google credentials.',
  wire: ({ model, region, projectId }) => ({
    host: regionHost(region),
    basePath: `/v1/projects/${projectId}/locations/${region ?? 'global'}`,
    prefixReplacesBase: false,
    formats: {},
    model,
    credential: 'bearer',
  }),
})

function regionHost(region: string | undefined): string {
  if (region === undefined || region === 'global') return 'aiplatform.googleapis.com'
  if (region === 'us' || region === 'eu') return `aiplatform.${region}.rep.googleapis.com`
  return `${region}-aiplatform.googleapis.com`
}
