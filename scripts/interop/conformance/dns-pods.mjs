// The harness runs no program for Pods of CoreDNS, which the suite's UDPRoute asks. Here each of them answers: with
// the question and the code NXDOMAIN, as one without zones would.
import { createSocket } from 'node:dgram'
import { readFile } from 'node:fs/promises'
import { request } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import { parse } from 'yaml'

const { clusters, users } = parse(await readFile(process.env.KUBECONFIG, 'utf8'))
const { server } = clusters[0].cluster
const headers = { authorization: `Bearer ${users[0].user.token}` }
const answering = new Set()
const parent = process.ppid

/** Addresses of Pods that run it. */
async function addresses() {
  const { items } = await get(`${server}/api/v1/pods`)
  const runs = pod => pod.spec.containers.some(({ image }) => image.includes('coredns'))
  return items.flatMap(pod => (runs(pod) && pod.status.podIP ? [pod.status.podIP] : []))
}

function get(url) {
  return new Promise((resolve, reject) => {
    request(url, { headers, rejectUnauthorized: false }, res => {
      let text = ''
      res.on('data', chunk => {
        text += chunk
      })
      res.on('end', () => resolve(JSON.parse(text)))
    })
      .on('error', reject)
      .end()
  })
}

function answer(address) {
  const socket = createSocket('udp4')
  socket.on('error', error => process.stderr.write(`${address}: ${error.message}\n`))
  socket.on('message', (query, client) => {
    const reply = Buffer.from(query)
    reply[2] = 0x84 | (query[2] & 1)
    reply[3] = 3
    // Additional records of the question (EDNS) are not repeated.
    reply.writeUInt16BE(0, 10)
    socket.send(reply.subarray(0, endOfQuestion(query)), client.port, client.address)
  })
  socket.bind(53, address)
}

function endOfQuestion(query) {
  let at = 12
  while (query[at] > 0) at += query[at] + 1
  return at + 5
}

while (process.ppid === parent) {
  for (const address of await addresses().catch(() => [])) {
    if (!answering.has(address)) answer(address)
    answering.add(address)
  }
  await pause(500)
}
process.exit()
