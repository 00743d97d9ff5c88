import type { McpEntry } from '../dry-run/stub-mcp.ts'
import { EVERYTHING, type Stub, type Stubs } from '../dry-run/stubs.ts'
import { fieldsOf } from '../test-file/client.ts'
import type { TestCase, TestFile, TestStub, TestStubs } from '../test-file/test-file.ts'

/** The stubs of a case: its own, then those of the file. */
export function stubsOf({ stubs: all = {} }: TestFile, { stubs = {}, upstream }: TestCase): Stubs {
  const rest: Stubs = upstream === undefined ? new Map() : new Map([[EVERYTHING, upstream]])
  return new Map([...rest, ...compiled(all), ...compiled(stubs)])
}

function compiled(stubs: TestStubs): Stubs {
  return new Map(
    Object.entries(stubs).map(([name, stub]) => [
      name,
      Array.isArray(stub) ? stub.map(stubOf) : stubOf(stub as TestStub),
    ]),
  )
}

function stubOf({ headers, json, mcp, ...rest }: TestStub): Stub {
  const entries = (list: readonly unknown[] | undefined) => list as readonly McpEntry[] | undefined
  const offered = mcp && {
    ...(mcp.tools && { tools: entries(mcp.tools) ?? [] }),
    ...(mcp.prompts && { prompts: entries(mcp.prompts) ?? [] }),
    ...(mcp.resources && { resources: entries(mcp.resources) ?? [] }),
  }
  return {
    ...rest,
    ...(headers && { headers: fieldsOf(headers) }),
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    ...(offered && { mcp: offered }),
  }
}
