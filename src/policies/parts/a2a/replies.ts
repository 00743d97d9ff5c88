// What is done to the replies of agents; loaded with the first request.
export { cardPassage } from './card.ts'
export { taskStates } from './task-states.ts'
