/** The public contract. Whatever is named here is public API. */
export {
  type Agent,
  type AgentSummary,
  agentSchema,
  agentSummarySchema,
  type Permission,
  permissionSchema,
} from "./agent.ts";
export {
  type ApiBody,
  type ApiOutput,
  type ApiPath,
  type ApiQuery,
  createSessionSchema,
  type Endpoint,
  endpoints,
  eventSchema,
  type Harness,
  harnessSchema,
  type Status,
  sendMessageSchema,
  statusSchema,
  updateSessionSchema,
} from "./api.ts";
export {
  type Ask,
  type AskAnswer,
  type AskStatus,
  askAnswerSchema,
  askSchema,
  askStatusSchema,
  permissionChoices,
} from "./ask.ts";
export { AegisError, type ErrorBody, type ErrorCode, errorStatus, isAegisError } from "./errors.ts";
export {
  type Event,
  type EventData,
  type EventOf,
  type EventType,
  eventSchemas,
  type LiveDelta,
  liveDeltaSchema,
} from "./event.ts";
export { type AskId, type Id, type IdPrefix, isId, type MessageId, newId, type SessionId, type TurnId } from "./ids.ts";
export {
  type Message,
  type MessageStatus,
  messageMaxBytes,
  messageSchema,
  messageStatusSchema,
  type Receipt,
  receiptSchema,
  type Sender,
  senderSchema,
} from "./message.ts";
export { type Method, type Route, type RouteName, routes } from "./routes.ts";
export {
  type Session,
  type SessionState,
  type SessionView,
  sessionSchema,
  sessionStateSchema,
  sessionViewSchema,
  type TitleSource,
} from "./session.ts";
export {
  type Attempt,
  attemptSchema,
  type Budget,
  type BudgetCheck,
  budgetCheckSchema,
  budgetSchema,
  type CancelOutcome,
  cancelOutcomeSchema,
  type QueueSettings,
  type QueueView,
  queueNameSchema,
  queueSettingsSchema,
  queueViewSchema,
  type Task,
  type TaskStatus,
  type TaskView,
  taskSchema,
  taskStatusSchema,
  taskViewSchema,
} from "./task.ts";
export {
  type Turn,
  type TurnError,
  type TurnItems,
  type TurnItemType,
  type TurnReason,
  turnItemSchemas,
  turnReasonSchema,
  turnSchema,
  type Usage,
} from "./turn.ts";
