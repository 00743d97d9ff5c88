import { type ExecFileException, execFile, execFileSync } from 'node:child_process'
import { Failure } from '../../diagnostics/failure.ts'

/** Bytes of one answer. */
const MAX_ANSWER = 256 * 1024 * 1024
/** ms: a repository may reference files that never end or block. */
const PATIENCE = 60_000

/**
 * Disables everything that a repository's own configuration could run, and fetching. The commands used here read only
 * objects, not the index or working tree, so filters and text conversions, which the repository can name, do not run.
 */
const SETTINGS = [
  // A folder of the tree that looks like a bare repository is not used as one. Supported since Git 2.38.
  'safe.bareRepository=explicit',
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'core.attributesFile=/dev/null',
  'core.alternateRefsCommand=',
  'core.sshCommand=false',
  'core.gitProxy=',
  'core.askPass=',
  'credential.helper=',
  'diff.external=',
  'gpg.program=false',
  'protocol.allow=never',
  'maintenance.auto=false',
  'gc.auto=0',
].flatMap(setting => ['-c', setting])

/** Environment variables that locate the repository, which git sets for its hooks. */
const PASSED_ON: ReadonlySet<string> = new Set([
  'GIT_DIR',
  'GIT_COMMON_DIR',
  'GIT_WORK_TREE',
  'GIT_OBJECT_DIRECTORY',
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_QUARANTINE_PATH',
  'GIT_CEILING_DIRECTORIES',
  'GIT_DISCOVERY_ACROSS_FILESYSTEM',
  'GIT_CONFIG_GLOBAL',
  'GIT_CONFIG_SYSTEM',
  'GIT_CONFIG_NOSYSTEM',
])

function gitCall(folder: string, args: readonly string[]) {
  const kept = Object.entries(process.env).filter(([name]) => !/^GIT_/i.test(name) || PASSED_ON.has(name))
  const env = {
    ...Object.fromEntries(kept),
    // Never prompts, writes or fetches, whatever the repository's configuration allows.
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_PAGER: 'cat',
    // The messages are parsed.
    LC_ALL: 'C',
  }
  const limits = { maxBuffer: MAX_ANSWER, timeout: PATIENCE, killSignal: 'SIGKILL', windowsHide: true } as const
  return { args: ['-C', folder, '--no-pager', ...SETTINGS, ...args], options: { ...limits, env } }
}

/**
 * The output of git in a folder. Throws a Failure `usage` without git or a repository, and the result of `failed` for
 * other failures.
 */
export function runGit(
  folder: string,
  args: readonly string[],
  failed: (cause: unknown) => Failure,
  input?: string,
): Promise<Buffer> {
  const call = gitCall(folder, args)
  return new Promise((resolved, rejected) => {
    // Not `promisify`: in the bundle `execFile` is loaded lazily and lacks the property that `promisify` uses.
    const child = execFile('git', call.args, { ...call.options, encoding: 'buffer' }, (error, out, stderr) => {
      if (error === null) resolved(out)
      else rejected(missing(error, stderr.toString(), folder) ?? failed(error))
    })
    // If git fails at once, its output has the reason.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })
}

/** The same, synchronously. Undefined on any failure. */
export function runGitNow(folder: string, args: readonly string[]): Buffer | undefined {
  const call = gitCall(folder, args)
  try {
    return execFileSync('git', call.args, { ...call.options, stdio: 'pipe' })
  } catch {
    return undefined
  }
}

/** Throws a Failure `usage` if it is not a revision in the repository of a folder. */
export async function checkRevision(folder: string, revision: string, help: string): Promise<void> {
  const unknown = (cause?: unknown) =>
    new Failure('usage', `git does not know the revision ${revision}.`, { cause, help })
  if (revision === '' || revision.startsWith('-')) throw unknown()
  await runGit(folder, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`], unknown)
}

function missing(error: ExecFileException, stderr: string, folder: string): Failure | undefined {
  if (error.code === 'ENOENT') {
    return new Failure('usage', 'revisions are read with git, and it is not installed.', { cause: error })
  }
  if (error.killed === true) {
    return new Failure('usage', `git did not answer within ${PATIENCE / 1000} seconds in ${folder}.`, { cause: error })
  }
  if (stderr.includes('cannot use bare repository')) {
    return new Failure('usage', `${folder} looks like a bare repository, which is not used without being asked.`, {
      cause: error,
      help: 'Name it in GIT_DIR if you trust it.',
    })
  }
  if (stderr.includes('dubious ownership')) {
    return new Failure('usage', `git does not trust the repository of ${folder}: it belongs to another user.`, {
      cause: error,
      help: '`git config --global --add safe.directory FOLDER` trusts it.',
    })
  }
  if (!stderr.includes('not a git repository')) return undefined
  return new Failure('usage', `${folder} is in no git repository.`, { cause: error })
}
