/** Plugins whose hooks are functions of the test: what a worker would do with them happens here. */
import type { HookContexts, HookDeclaration, HookEvent } from "@aegis/contract/hook.ts";
import { runBatch } from "@aegis/hooks/hook-batch.ts";
import type { HookRunner, PluginHooks } from "@aegis/hooks/hook-table.ts";

export const session = { id: "ses_1", handle: "lucid-hertz", agent: "a", harness: "scripted", depth: 0 };

export const preTurn: HookContexts["pre_turn"] = {
  session,
  turn: "trn_1",
  turnIndex: 0,
  summedUp: 0,
  userMessage: "hello",
  senders: [],
  history: [],
  skills: [],
  projectRoot: "/p",
  priorResults: [],
};

export type TestHook = HookDeclaration & { call: (context: never, signal: AbortSignal) => unknown };

export function hook<E extends HookEvent>(
  event: E,
  call: (context: HookContexts[E], signal: AbortSignal) => unknown,
  more: Partial<Omit<HookDeclaration, "event">> = {},
): TestHook {
  return { event, name: event, priority: 0, strict: false, timeoutMs: null, ...more, call };
}

/** `order` is the plugin's place among the others. */
export function testPlugin(plugin: string, hooks: readonly TestHook[], order = 0): PluginHooks {
  const run: HookRunner = (batch, signal) =>
    // Nothing but copies crosses to a worker and back.
    runBatch(
      structuredClone(batch),
      (name, context, abort) =>
        hooks.find((one) => one.event === batch.event && one.name === name)?.call(context as never, abort),
      signal,
    ).then((results) => structuredClone(results));
  return { plugin, order, hooks: hooks.map(({ call: _, ...declaration }) => declaration), run };
}
