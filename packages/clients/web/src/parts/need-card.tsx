/** What waits for a person besides asks: failed work, and finished work in a worktree that can be landed. */
import { headline } from "@aegis/contract/headline.ts";
import type { OpenNeed } from "@aegis/contract/need.ts";
import { client } from "../app/client.ts";
import { link } from "../app/router.ts";
import { oneLine, visible } from "../model/format.ts";
import { Age, Diffstat } from "./facts.tsx";
import { ActionButton } from "./page.tsx";

const checks = { passed: "check passed", failed: "check failed" } as const;

export function NeedCard({ need }: { need: OpenNeed }) {
  const { session, agent, problem, kind } = need;
  return (
    <article class={`card need ${kind}`}>
      <header>
        <a class="handle cut" href={session === null ? link("queues") : link("s", session)}>
          {oneLine(headline(need))}
        </a>
        <span class={`what ${kind === "failed" ? "err" : "ok"}`}>{kind === "failed" ? "failed" : "ready to land"}</span>
        <Age at={need.since} />
      </header>
      <p class="who dim cut">
        {agent === null ? null : `${visible(agent)} · `}
        <small class="handle-id">{visible(need.handle)}</small>
        {need.closed ? " · closed" : ""}
      </p>
      {problem === null ? null : <p class="err">{oneLine(problem, 240)}</p>}
      {kind === "ready" && session !== null ? <Ready need={need} session={session} /> : null}
    </article>
  );
}

function Ready({ need, session }: { need: OpenNeed; session: NonNullable<OpenNeed["session"]> }) {
  const target = visible(need.target ?? "its branch");
  return (
    <footer class="dim">
      <a class="quiet" href={link("changes", session)}>
        <Diffstat changes={need.changes} />
      </a>
      <span>{need.check === null ? "not checked" : checks[need.check]}</span>
      <ActionButton label={`Land on ${target}`} kind="primary" work={() => land(session)} />
    </footer>
  );
}

/** A landing that did not succeed is told on the card. */
async function land(session: NonNullable<OpenNeed["session"]>): Promise<void> {
  const { landing } = await client.call("landSession", { path: { session }, body: {} });
  if (landing.state !== "landed" && landing.state !== "nothing")
    throw new Error(landing.detail ?? `the landing is ${landing.state}`);
}
