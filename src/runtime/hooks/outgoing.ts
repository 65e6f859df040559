/** `message_sending`: what hooks make of an agent's text before anybody sees it. */
import type { Store } from "../../store/store.ts";
import type { OutgoingText } from "../sessions/recorder.ts";
import type { HookBus } from "./bus.ts";
import { findSubject } from "./subject.ts";

export type OutgoingOptions = {
  bus: HookBus;
  store: Store;
  /** Aborts when the daemon may no longer wait for anything. */
  signal: AbortSignal;
};

export function outgoingText({ bus, store, signal }: OutgoingOptions): OutgoingText {
  return {
    get isHeld() {
      return bus.has("message_sending");
    },
    async pass({ session: id, turn, text }) {
      const session = await findSubject(store.read, id).catch(() => null);
      // Rather silent than unchanged.
      if (session === null) return null;
      // Not with the signal of the turn: what was said before it was cut is shown, but not as it was before the hooks.
      const outcome = await bus.run("message_sending", { session, turn, content: text }, signal);
      return outcome.cancelled || signal.aborted ? null : (outcome.content ?? text);
    },
  };
}
