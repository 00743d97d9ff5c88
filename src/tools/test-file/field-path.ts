const STEP = /([^.[\]"]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/y

/**
 * Parses `json.choices[0].message`, `json.choices.0.message` (brackets must be quoted in YAML flow maps),
 * `header["x.y"]`. Undefined if it is malformed.
 */
export function parseFieldPath(text: string): (string | number)[] | undefined {
  const steps: (string | number)[] = []
  const step = new RegExp(STEP)
  while (step.lastIndex < text.length) {
    const at = step.lastIndex
    if (steps.length > 0 && text[at] === '.') step.lastIndex++
    else if (steps.length > 0 && text[at] !== '[') return undefined
    const [, name, index, quoted] = step.exec(text) ?? []
    if (name !== undefined) steps.push(/^\d+$/.test(name) ? Number(name) : name)
    else if (index !== undefined) steps.push(Number(index))
    else if (quoted !== undefined) steps.push(quoted.replace(/\\(.)/g, '$1'))
    else return undefined
  }
  return steps.length > 0 ? steps : undefined
}
