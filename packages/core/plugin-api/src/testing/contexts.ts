/** Hook contexts for tests: complete and plausible, overridden by the fields that matter to the test. */
import type { HookContexts, HookEvent, HookSession } from "@aegis/contract/hook.ts";

/**
 * Creates the session that a hook is called for.
 *
 * @example
 * ```ts
 * import { fakeSession } from "aegis/testing";
 *
 * fakeSession({ agent: "reviewer" }).agent; // "reviewer"
 * ```
 */
export function fakeSession(over: Partial<HookSession> = {}): HookSession {
  return { id: "ses_test", handle: "lucid-knuth", agent: "dev", harness: "scripted", depth: 0, ...over };
}

/**
 * Creates the context of a hook event. `over` replaces the fields that matter to the test.
 *
 * @example
 * ```ts
 * import { hookContext } from "aegis/testing";
 *
 * hookContext("pre_tool_use", { tool: "bash", input: { command: "ls" } }).tool; // "bash"
 * ```
 */
export function hookContext<E extends HookEvent>(event: E, over: Partial<HookContexts[E]> = {}): HookContexts[E] {
  return { ...contexts()[event], ...over };
}

function contexts(): HookContexts {
  const session = fakeSession();
  const projectRoot = "/project";
  const tool = { session, call: "call_1", tool: "read", kind: "read" as const, plugin: null, input: {} };
  const subagent = { session: fakeSession({ depth: 1 }), parent: session, runId: "0123456789ab", label: "helper" };
  return {
    pre_spawn: { session, argv: ["agent"], env: {}, cwd: projectRoot, projectRoot, priorResults: [] },
    pre_turn: {
      session,
      turn: "trn_test",
      turnIndex: 0,
      userMessage: "hello",
      senders: [{ kind: "human" }],
      summedUp: 0,
      history: [],
      skills: [],
      projectRoot,
      priorResults: [],
    },
    message_received: { session, content: "hello", sender: { kind: "human" } },
    before_agent_start: { session, systemPrompt: "", messages: [] },
    pre_tool_use: tool,
    after_tool_call: { ...tool, result: "done", isError: false },
    message_sending: { session, turn: "trn_test", content: "hello" },
    post_turn: {
      session,
      turn: "trn_test",
      userMessage: "hello",
      assistantMessage: "hi",
      reason: "completed",
      error: null,
      usage: null,
      projectRoot,
    },
    session_start: { session, projectRoot, resumed: false },
    session_end: { session, projectRoot, reason: "closed" },
    on_startup: { projectRoot, version: "0.0.0" },
    on_shutdown: { projectRoot, reason: "asked to" },
    on_error: { session, error: { code: "model", message: "it failed", retryable: false } },
    on_interrupt: { session, turn: "trn_test" },
    on_handoff: { from: session, to: fakeSession({ handle: "bold-curie" }), message: "msg_test", content: "yours" },
    on_enqueue: { queue: "work", task: "tsk_test", payload: "do it", from: session },
    subagent_spawned: { ...subagent, task: "look" },
    subagent_ended: { ...subagent, status: "done", result: "seen" },
  } as HookContexts;
}
