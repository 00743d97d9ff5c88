// Processing of agents' responses; loaded with the first request.
export { cardPassage } from './card.ts'
export { taskStates } from './task-states.ts'
