/** A message, and why it exists: its causes as a chain, down to the person or the schedule it began with. */
import { whyWords } from "@aegis/client/views/why.ts";
import type { MessageId } from "@aegis/contract/ids.ts";
import type { WhyLink } from "@aegis/contract/why.ts";
import { client } from "../app/client.ts";
import { useResource } from "../app/resource.ts";
import { link } from "../app/router.ts";
import { now } from "../app/store.ts";
import { oneLine, visible, when } from "../model/format.ts";
import { Empty, Problem } from "../parts/facts.tsx";
import { Page } from "../parts/page.tsx";
import { MessageRow } from "../parts/transcript-row.tsx";

const marks: Readonly<Partial<Record<WhyLink["kind"], string>>> = { person: "◆", schedule: "◆", aegis: "◆", turn: "○" };

export function WhyPage({ rest: [message = ""] }: { rest: readonly string[] }) {
  return <Why key={message} message={message} />;
}

function Why({ message }: { message: string }) {
  const { data, problem } = useResource(
    async () => {
      const path = { message: message as MessageId };
      const [{ links }, whole] = await Promise.all([client.call("why", { path }), client.call("getMessage", { path })]);
      return { links, message: whole.message };
    },
    () => false,
  );
  if (data === null) return problem === null ? <Empty>Loading…</Empty> : <Problem text={problem} />;
  return (
    <Page title="Why this message" tools={<code class="dim">{visible(message)}</code>}>
      <section class="why-message" aria-label="The message">
        <MessageRow message={data.message} why={false} />
        <a href={link("s", data.message.session)}>Open the session that received it</a>
      </section>
      <ol class="why" aria-label="Causes, the newest first">
        {data.links.map((one, index) => (
          <li key={index}>
            <span class="mark" aria-hidden="true">
              {marks[one.kind] ?? "●"}
            </span>
            <b>{visible(whyWords(one))}</b> {one.at === null ? null : <time class="dim">{when(one.at, now())}</time>}{" "}
            {one.session === null ? null : <a href={link("s", one.session)}>open</a>}
            {one.kind === "run" && one.id !== null ? <a href={link("workflows", one.id)}>open</a> : null}
            {one.text === "" ? null : <p>{oneLine(one.text, 300)}</p>}
          </li>
        ))}
      </ol>
    </Page>
  );
}
