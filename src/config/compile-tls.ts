import type { KeyObject, X509Certificate } from 'node:crypto'
import { signingAlgorithm } from '../auth/certificate-algorithms.ts'
import type { FrontendSettings } from '../policies/policy.ts'
import { type Compilation, readReferenced } from './compile-context.ts'
import type { Listener, TlsFiles } from './snapshot.ts'
import type { TlsSection } from './standalone/listener-section.ts'

/** Undefined after a finding. The listener's settings take precedence over those of the frontend. */
export function compileTls(
  section: TlsSection,
  protocol: Listener['protocol'],
  frontend: FrontendSettings,
  c: Compilation,
): TlsFiles | undefined {
  const path = c.paths.get(section) ?? []
  const read = (field: 'cert' | 'key' | 'root'): Buffer | undefined => {
    const file = section[field]
    return file === undefined ? undefined : readReferenced(c, file, [...path, field])
  }
  const cert = read('cert')
  const key = read('key')
  const ca = read('root')
  if (!cert || !key || (section.root !== undefined && !ca)) return undefined
  if (!isUsable(cert, key, ca, section, c)) return undefined
  const { defaults } = frontend.tls
  const alpn = protocol === 'HTTPS' ? (defaults.alpn ?? ['h2', 'http/1.1']) : undefined
  const minVersion = section.minTLSVersion ?? defaults.minVersion
  const maxVersion = section.maxTLSVersion ?? defaults.maxVersion
  const ciphers = section.cipherSuites ?? defaults.ciphers
  const groups = section.keyExchangeGroups ?? defaults.groups
  return {
    cert,
    key,
    ...(section.mode === 'dynamicCa' ? { issues: true } : {}),
    ...(ca ? { ca } : {}),
    ...(ca && section.clientCertificate === 'optional' ? { caOptional: true } : {}),
    ...(alpn ? { alpn } : {}),
    ...(minVersion ? { minVersion } : {}),
    ...(maxVersion ? { maxVersion } : {}),
    ...(ciphers ? { ciphers } : {}),
    ...(groups ? { groups } : {}),
  }
}

/** Reports what would make every handshake fail. */
function isUsable(cert: Buffer, key: Buffer, ca: Buffer | undefined, section: TlsSection, c: Compilation): boolean {
  // Loaded lazily: without TLS in the file nothing else in the compiler needs the platform's cryptography.
  const { X509Certificate, createPrivateKey } = process.getBuiltinModule('node:crypto')
  const path = c.paths.get(section) ?? []
  const parse = <T>(field: 'cert' | 'key' | 'root', kind: string, make: () => T): T | undefined => {
    try {
      return make()
    } catch {
      c.report({
        code: 'GW207',
        message: `the file \`${section[field]}\` holds no ${kind}`,
        path: [...path, field],
        at: 'value',
        label: `not a PEM ${kind}`,
      })
      return undefined
    }
  }
  const certificate = parse('cert', 'certificate', () => new X509Certificate(cert))
  const privateKey = parse('key', 'private key', () => createPrivateKey(key))
  const root = ca && parse('root', 'certificate', () => new X509Certificate(ca))
  if (!certificate || !privateKey || (ca && !root)) return false
  if (certificate.checkPrivateKey(privateKey))
    return section.mode === 'static' || canIssue(certificate, privateKey, section, c)
  c.report({
    code: 'GW207',
    message: `the key in \`${section.key}\` does not belong to the certificate in \`${section.cert}\``,
    path: [...path, 'key'],
    at: 'value',
    label: 'the key of another certificate',
  })
  return false
}

function canIssue(certificate: X509Certificate, key: KeyObject, section: TlsSection, c: Compilation): boolean {
  const path = c.paths.get(section) ?? []
  const report = (field: 'cert' | 'key', message: string, label: string) =>
    c.report({ code: 'GW207', message, path: [...path, field], at: 'value', label })
  if (!certificate.ca) {
    report(
      'cert',
      `\`${section.cert}\` is not the certificate of an authority: clients would refuse what it issues`,
      'not a CA',
    )
  } else if (signingAlgorithm(key) === undefined) {
    report(
      'key',
      `the key in \`${section.key}\` cannot sign certificates`,
      'neither RSA, Ed25519 nor an ECDSA key of P-256, P-384 or P-521',
    )
  } else return true
  return false
}
