/** Arguments that cannot form a request; the message names the argument. */
export class ArgumentProblem extends Error {}
