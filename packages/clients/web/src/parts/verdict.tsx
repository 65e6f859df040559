/** The end of a review: one message with all comments sends the work back or approves it; a worktree can be landed. */

import type { Changes } from "@aegis/contract/changes.ts";
import { useState } from "preact/hooks";
import { useAction } from "../app/busy.ts";
import { client } from "../app/client.ts";
import { changeReview, reviewOf, sendReview } from "../app/review.ts";
import { board } from "../app/store.ts";
import { plural, visible, when } from "../model/format.ts";
import { type Approval, approvalText, drafts, sendBackText } from "../model/review.ts";
import { Problem } from "./facts.tsx";

export function Verdict({ changes, approval }: { changes: Changes; approval: Approval | null }) {
  const action = useAction();
  const [said, setSaid] = useState<string | null>(null);
  const { session } = changes;
  const review = reviewOf(session).value;
  const count = drafts(review).length;
  const card = board.value.cards[session];
  const isClosed = card === undefined || card.state === "closed";
  const hasNothing = count === 0 && review.note.trim() === "";
  const send = async (text: string, done: string) => {
    setSaid(null);
    if (await action.run(() => sendReview(session, text))) setSaid(done);
  };
  return (
    <footer class="verdict">
      <ApprovalLine changes={changes} approval={approval} />
      <textarea
        rows={1}
        aria-label="Note to the agent"
        placeholder="A note to the agent (optional)"
        value={review.note}
        onInput={(event) => {
          const note = event.currentTarget.value;
          changeReview(session, (before) => ({ ...before, note }));
        }}
      />
      <div class="buttons">
        <span class="dim">{count === 0 ? "No comments" : plural(count, "comment")}</span>
        <button
          type="button"
          disabled={isClosed || hasNothing || action.busy.value}
          title="sends all comments as one message"
          onClick={() => void send(sendBackText(review), "Sent back.")}
        >
          Send back
        </button>
        <button
          type="button"
          class="primary"
          disabled={isClosed || changes.after === null || changes.files.length === 0 || action.busy.value}
          title="tells the agent that the changes are approved"
          onClick={() => void send(approvalText(review, changes), "Approved.")}
        >
          Approve
        </button>
        {card?.worktree?.state === "ready" ? <Land session={session} say={setSaid} /> : null}
        <span role="status">{said}</span>
      </div>
      <Problem text={action.problem.value} />
    </footer>
  );
}

/** Content decides: the same files in the same state are still approved. */
function ApprovalLine({ changes, approval }: { changes: Changes; approval: Approval | null }) {
  if (approval === null) return null;
  const at = when(approval.at, Date.now());
  return approval.tree === changes.after ? (
    <p class="ok">✓ Approved at {at}.</p>
  ) : (
    <p class="warn">The folder has changed since it was approved at {at}.</p>
  );
}

function Land({ session, say }: { session: Changes["session"]; say: (text: string) => void }) {
  const action = useAction();
  const land = () =>
    action.run(async () => {
      const { landing } = await client.call("landSession", { path: { session }, body: {} });
      const detail = landing.detail === null ? "" : ` ${landing.detail}`;
      const proof = landing.receipt?.state === "passed" ? "verified" : "unverified: no check ran";
      say(
        landing.state === "landed"
          ? `Landed on ${landing.target}, ${proof}.`
          : visible(`Not landed: ${landing.state}.${detail}`),
      );
    });
  return (
    <>
      <button type="button" disabled={action.busy.value} onClick={() => void land()}>
        {action.busy.value ? "Landing…" : "Land"}
      </button>
      <Problem text={action.problem.value} />
    </>
  );
}
