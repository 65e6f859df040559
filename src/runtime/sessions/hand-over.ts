/**
 * Records a delivery in the turn's row before it is written to the harness, so that after a crash Aegis knows which
 * messages a harness may have.
 */
import type { MessageId, SessionId, TurnId } from "../../contract/ids.ts";
import type { Prompt } from "../../drivers/driver.ts";
import { printOf } from "../../lib/text-digest.ts";
import type { HandOver, StoreTx } from "../../store/store.ts";

export type Written = Pick<Prompt, "key" | "text"> & {
  session: SessionId;
  turn: TurnId;
  /** Set for a message that joins the running turn. */
  joined?: MessageId;
};

/** Throws `conflict` if the turn has ended. */
export async function recordHandOver(tx: StoreTx, { session, turn, key, text, joined }: Written): Promise<void> {
  const conversation = (await tx.sessions.get(session))?.resume ?? null;
  const own: HandOver = { turn, key, print: printOf(text), conversation, ...(joined === undefined ? {} : { joined }) };
  await addHandOvers(tx, turn, [own]);
}

export async function addHandOvers(tx: StoreTx, turn: TurnId, more: readonly HandOver[]): Promise<void> {
  const before = (await tx.turns.get(turn))?.handed_over ?? [];
  await tx.turns.handOver(turn, [...before, ...more]);
}

/** Removes the record after the harness refused the message. */
export async function withdrawHandOver(tx: StoreTx, turn: TurnId, joined: MessageId): Promise<void> {
  const before = (await tx.turns.get(turn))?.handed_over ?? [];
  await tx.turns.handOver(
    turn,
    before.filter((one) => one.joined !== joined),
  );
}
