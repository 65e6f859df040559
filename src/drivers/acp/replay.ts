/** Collects what an agent replays when it loads a conversation. The protocol offers no other way to see its record. */
import { isObject, objectAt, textAt } from "../cli-harness/fields.ts";
import type { ConversationSpec } from "../driver.ts";
import type { SessionUpdate } from "./wire.ts";

export class Replay {
  readonly #session: string | null;
  readonly #texts: string[] = [];

  constructor({ resume, wantsRecord }: Pick<ConversationSpec, "resume" | "wantsRecord">) {
    this.#session = wantsRecord === true ? resume : null;
  }

  update({ sessionId, update }: SessionUpdate): void {
    if (this.#session === null || sessionId !== this.#session || !isObject(update)) return;
    if (update.sessionUpdate !== "user_message_chunk") return;
    const text = textAt(objectAt(update, "content"), "text");
    if (text !== null) this.#texts.push(text);
  }

  /** The texts of the user's messages, in order; null if the agent replayed none: it may not support replay. */
  get userTexts(): readonly string[] | null {
    return this.#texts.length === 0 ? null : this.#texts;
  }
}
