import { ipVersion } from '../../http/ip-version.ts'
import { boolean, integer, json, list, map, object, oneOf, opt, req, string } from '../../schema/builder.ts'
import { problem } from '../../schema/rules.ts'
import { defineKind } from './resource.ts'

const endpoint = object('endpoint', {
  addresses: req(list(string(), { min: 1, max: 100 }), 'Its addresses.'),
  conditions: opt(
    object('endpoint conditions', {
      ready: opt(boolean, 'Whether it accepts requests.'),
      serving: opt(boolean, 'Whether it serves requests.'),
      terminating: opt(boolean, 'Whether it is terminating.'),
    }),
    'Its state.',
  ),
  hostname: opt(string(), 'Its host name.'),
  nodeName: opt(string(), 'Its node.'),
  zone: opt(string(), 'Its zone.'),
  targetRef: opt(map(json), 'Its Pod.'),
  deprecatedTopology: opt(map(string()), 'Its place.'),
  hints: opt(map(json), 'Who should use it.'),
})
const ADDRESS = {
  IPv4: { is: (text: string) => ipVersion(text) === 4, form: 'an IPv4 address' },
  IPv6: { is: (text: string) => ipVersion(text) === 6, form: 'an IPv6 address' },
  FQDN: {
    is: (text: string) => /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/.test(text),
    form: 'a DNS name',
  },
}

export const endpointSlice = defineKind(
  {
    kind: 'EndpointSlice',
    group: 'discovery.k8s.io',
    versions: ['v1'],
    namespaced: true,
  },
  {
    addressType: req(oneOf(['IPv4', 'IPv6', 'FQDN']), 'The kind of addresses.'),
    endpoints: opt(list(endpoint, { max: 1000 }), 'The endpoints.'),
    ports: opt(
      list(
        object('endpoint port', {
          name: opt(string({ max: 63 }), 'The name.'),
          protocol: opt(oneOf(['TCP', 'UDP', 'SCTP']), 'The protocol.'),
          port: opt(integer(1, 65535), 'The port.'),
          appProtocol: opt(string(), 'The protocol that the application speaks.'),
        }),
        { max: 100 },
      ),
      'The ports.',
    ),
  },
  {
    check: value => {
      const { is, form } = ADDRESS[value.addressType as keyof typeof ADDRESS]
      const endpoints = (value.endpoints ?? []) as readonly { readonly addresses: readonly string[] }[]
      return endpoints.flatMap(({ addresses }, e) =>
        addresses.flatMap((address, a) =>
          is(address)
            ? []
            : [
                problem(['endpoints', e, 'addresses', a], `\`${address}\` is not ${form}`, {
                  at: 'value',
                  code: 'GW106',
                }),
              ],
        ),
      )
    },
  },
)
