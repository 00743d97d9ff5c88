/** Arguments that make no request; the message names the argument. */
export class ArgumentProblem extends Error {}
