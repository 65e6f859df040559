/** The entry point "aegis/testing" for tests of plugins. Every export of this file is public API. */
export {
  callCommand,
  callHook,
  callReducer,
  callTool,
  fakeContext,
  loadedParts,
  type Parts,
  runWorkflow,
} from "./calls.ts";
export { type StartedChannel, startChannel } from "./channel.ts";
export { fakeSession, hookContext } from "./contexts.ts";
export {
  type EngineCall,
  type FakeEngine,
  type FakeEngineOptions,
  type FakeWorkflowContext,
  type FakeWorkflowContextOptions,
  fakeEngine,
  fakeWorkflowContext,
  type WorkflowContextCall,
} from "./workflow-context.ts";
