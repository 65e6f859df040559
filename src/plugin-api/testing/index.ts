/** What tests of plugins import as "aegis/testing". Whatever is named here is public API. */
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
export { fakeSession, hookContext } from "./contexts.ts";
export { type EngineCall, type FakeEngine, type FakeEngineOptions, fakeEngine } from "./engine.ts";
