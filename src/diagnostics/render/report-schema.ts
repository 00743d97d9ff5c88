import { boolean, integer, list, object, oneOf, opt, req, string } from '../../schema/builder.ts'
import { CODES } from '../codes.ts'

/**
 * The output of `gwctl validate -o json`, published as `schemas/diagnostics-report.schema.json`. Later versions may add
 * fields; `version` is incremented when one is removed or changes its meaning.
 */
const grows = { open: true }
const codes = Object.keys(CODES)
const count = integer(0)

const position = object(
  'position',
  {
    line: req(integer(1), 'Line, from 1.'),
    col: req(integer(1), 'Column in UTF-16 units, from 1.'),
    offset: req(count, 'UTF-16 units from the start of the text, from 0, without a byte order mark.'),
  },
  grows,
)
const range = object(
  'range',
  { start: req(position, 'The first character.'), end: req(position, 'After the last character.') },
  grows,
)
const file = string({ min: 1 })

const diagnosticSchema = object(
  'diagnostic',
  {
    code: req(oneOf(codes), 'What was found: `gwctl explain CODE`.'),
    severity: req(oneOf(['error', 'warning', 'info']), 'How bad it is.'),
    message: req(string({ min: 1 }), 'What is wrong, in one line.'),
    file: req(file, 'The file: relative to the working directory when below it, with `/`.'),
    range: req(range, 'What is wrong, in the file.'),
    path: req(string(), 'The field in the document, as `binds[0].port`; empty for the document itself.'),
    document: opt(
      object(
        'document',
        { index: req(integer(1), 'Its number, from 1.'), of: req(integer(1), 'How many the file has.') },
        grows,
      ),
      'Which document of a file with several.',
    ),
    template: opt(string(), 'The file that a tool has made the document from, as Helm and kustomize tell it.'),
    resource: opt(string(), 'The resource, as `HTTPRoute default/chat`.'),
    label: opt(string(), 'The words beside the underlined text.'),
    help: opt(string(), 'The way out.'),
    note: opt(string(), 'What else there is to know.'),
    related: req(
      list(
        object(
          'related place',
          {
            message: req(string(), 'What is there.'),
            file: req(file, 'The file.'),
            range: req(range, 'Where in the file.'),
          },
          grows,
        ),
      ),
      'Other places that have to do with it.',
    ),
    fix: opt(
      object(
        'fix',
        {
          title: req(string({ min: 1 }), 'What the fix does.'),
          safe: req(boolean, 'Applying it cannot change what a correct file means.'),
          edits: req(
            list(
              object(
                'edit',
                {
                  file: req(file, 'The file.'),
                  range: req(range, 'What is replaced.'),
                  text: req(string(), 'What stands there then.'),
                },
                grows,
              ),
              { min: 1 },
            ),
            'All of them together.',
          ),
        },
        grows,
      ),
      'How to correct it.',
    ),
    docs: req(string({ min: 1 }), 'The command that explains the code.'),
  },
  grows,
)

export const reportSchema = object(
  'report',
  {
    version: req(integer(1, 1), 'Of this format.'),
    tool: req(
      object(
        'tool',
        { name: req(string({ min: 1 }), '`gwctl`.'), version: req(string({ min: 1 }), 'Its version.') },
        grows,
      ),
      'What made the report.',
    ),
    summary: req(
      object(
        'summary',
        {
          errors: req(count, 'Findings of severity error.'),
          warnings: req(count, 'Findings of severity warning.'),
          infos: req(count, 'Findings of severity info.'),
          files: req(count, 'Files that were checked.'),
          documents: req(count, 'Documents that were checked.'),
          fixable: req(count, 'Findings with a safe fix.'),
          suppressed: req(count, 'Findings that a comment or the baseline suppresses.'),
        },
        grows,
      ),
      'Counts.',
    ),
    diagnostics: req(list(diagnosticSchema), 'The findings, by file and place.'),
    suppressed: req(
      list(
        object(
          'suppressed finding',
          {
            kind: req(oneOf(['inSource', 'external']), 'By a comment beside it, or by the baseline.'),
            reason: req(string(), 'Why.'),
            diagnostic: req(diagnosticSchema, 'The finding.'),
          },
          grows,
        ),
      ),
      'Findings that were suppressed.',
    ),
    fixed: req(
      list(
        object(
          'fixed finding',
          {
            code: req(oneOf(codes), 'What had been found.'),
            file: req(file, 'The file.'),
            line: req(integer(1), 'The line it was on.'),
            title: req(string(), 'What was done.'),
          },
          grows,
        ),
      ),
      'What `--fix` has changed.',
    ),
    skipped: req(
      list(
        object(
          'skipped input',
          {
            file: req(file, 'The file.'),
            document: opt(integer(1), 'Its document, from 1; without it, all of the file.'),
            reason: req(string(), 'Why.'),
          },
          grows,
        ),
      ),
      'Input that was left out on purpose.',
    ),
  },
  grows,
)
