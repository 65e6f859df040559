/** The entry point "aegis/schema": every schema and type that crosses the wire, and the API as OpenAPI. */
export { type ApiRequest, forkSessionSchema } from "./api.ts";
export {
  type CommandDiagnostic,
  type CommandOutcome,
  type CommandView,
  commandDiagnosticSchema,
  commandOutcomeSchema,
  commandSourceSchema,
  commandViewSchema,
} from "./command.ts";
export type { BroadcastId, FiringId, GroupId, RunId, TaskId } from "./ids.ts";
export * from "./index.ts";
export { openApiDocument } from "./openapi.ts";
export {
  type ExecutableTool,
  executableToolSchema,
  type HookFailure,
  hookFailureSchema,
  type MissingGate,
  missingGateSchema,
  type PluginDetail,
  type PluginDiagnostic,
  type PluginFormat,
  type PluginManifest,
  type PluginSetting,
  type PluginStatus,
  type PluginView,
  pluginDetailSchema,
  pluginDiagnosticSchema,
  pluginFormatSchema,
  pluginManifestSchema,
  pluginSettingSchema,
  pluginStatusSchema,
  pluginViewSchema,
  type UnsupportedPart,
  unsupportedPartSchema,
} from "./plugin.ts";
export {
  askIdSchema,
  broadcastIdSchema,
  firingIdSchema,
  groupIdSchema,
  messageIdSchema,
  runIdSchema,
  sessionIdSchema,
  taskIdSchema,
  turnIdSchema,
} from "./schema-ids.ts";
