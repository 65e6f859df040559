/** `message_sending`: hooks can change an agent's text before it is shown or stored. */

import type { OutgoingText } from "@aegis/sessions/recorder.ts";
import type { Store } from "@aegis/store/store.ts";
import type { HookBus } from "./bus.ts";
import { findSubject } from "./subject.ts";

export type OutgoingOptions = {
  bus: HookBus;
  store: Store;
  /** Aborts when the daemon is forced to stop. */
  signal: AbortSignal;
};

export function outgoingText({ bus, store, signal }: OutgoingOptions): OutgoingText {
  return {
    async pass({ session: id, turn, text }) {
      const session = await findSubject(store.read, id).catch(() => null);
      // Fails closed: show nothing rather than unfiltered text.
      if (session === null) return null;
      // Does not use the turn's signal: text that was written before an interrupt is shown, but only after the hooks
      // ran.
      const outcome = await bus.run("message_sending", { session, turn, content: text }, signal);
      return outcome.cancelled || signal.aborted ? null : (outcome.content ?? text);
    },
  };
}
