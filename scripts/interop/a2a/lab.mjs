// The packages of the A2A trials, installed beside the project.
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { installInto } from '../mcp/suite.mjs'

export const PACKAGES = {
  '@a2a-js/sdk': '1.3.0',
  'a2a-older': 'npm:@a2a-js/sdk@0.3.14',
  '@bufbuild/protobuf': '2.17.0',
  '@grpc/grpc-js': '1.14.7',
  express: '5.3.0',
}
/** Of Python, with what it is tried with. */
export const PYTHON = 'a2a-sdk[grpc,http-server]==1.3.0'
const run = promisify(execFile)

/** Where the packages are; A2A_LAB keeps them from one run to the next. */
export function install() {
  return installInto(process.env.A2A_LAB ?? join(tmpdir(), 'gwctl-a2a-lab'), PACKAGES)
}

/** The Python that has the SDK; undefined where there is none to be had. */
export async function pythonIn(lab) {
  const python = join(lab, 'venv/bin/python')
  const imported = () => run(python, ['-c', 'import a2a.client, grpc'])
  return imported()
    .catch(async () => {
      await run('python3', ['-m', 'venv', join(lab, 'venv')])
      await run(join(lab, 'venv/bin/pip'), ['install', '-q', PYTHON])
      await imported()
    })
    .then(
      () => python,
      () => undefined,
    )
}
