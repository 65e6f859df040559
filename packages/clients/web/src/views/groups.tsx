/** Groups: one question to several sessions, and the replies side by side. */

import type { GroupView, MemberReply } from "@aegis/contract/group.ts";
import { useState } from "preact/hooks";
import { useAction } from "../app/busy.ts";
import { client } from "../app/client.ts";
import { typeBegins, useResource } from "../app/resource.ts";
import { link } from "../app/router.ts";
import { duration, visible } from "../model/format.ts";
import { Empty, Problem } from "../parts/facts.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { Page, StatusWord } from "../parts/page.tsx";

const load = async () => {
  const { groups } = await client.call("listGroups");
  return await Promise.all(
    groups.map(async (group) => {
      if (group.broadcast === null) return { group, replies: {} };
      const { by_member } = await client.call("getBroadcast", { path: { broadcast: group.broadcast.id } });
      return { group, replies: by_member };
    }),
  );
};

export function GroupsPage() {
  const { data, problem } = useResource(load, typeBegins("group.", "session.state"));
  if (data === null) return problem === null ? <Empty>Loading…</Empty> : <Problem text={problem} />;
  return (
    <Page title="Groups">
      <Problem text={problem} />
      {data.length === 0 ? (
        <Empty>
          There are no groups. Start one with <code>aegis group spawn</code>.
        </Empty>
      ) : null}
      {data.map(({ group, replies }) => (
        <Group key={group.id} group={group} replies={replies} />
      ))}
    </Page>
  );
}

function Group({ group, replies }: { group: GroupView; replies: Readonly<Record<string, MemberReply>> }) {
  const asked = group.broadcast?.members.map(({ handle }) => handle) ?? [];
  return (
    <section class="group" aria-label={`Group ${group.name}`}>
      <h2>{visible(group.name)}</h2>
      <Broadcast group={group} />
      {group.broadcast === null ? null : <p class="question">{visible(group.broadcast.objective)}</p>}
      <ul class="replies">
        {group.members.map((member) => {
          const reply = replies[member.handle];
          return (
            <li key={member.session}>
              <header>
                <a href={link("s", member.session)}>{visible(member.handle)}</a> <span class="dim">{member.agent}</span>
                {reply === undefined ? (
                  <StatusWord status={asked.includes(member.handle) ? "waiting" : member.state} />
                ) : (
                  <StatusWord status={reply.status} />
                )}
                {reply?.turn_ms == null ? null : <span class="dim">{duration(reply.turn_ms)}</span>}
              </header>
              {reply === undefined ? <p class="dim">No reply yet.</p> : <Markdown text={reply.text} />}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Broadcast({ group }: { group: GroupView }) {
  const action = useAction();
  const [objective, setObjective] = useState("");
  if (group.broadcast !== null && group.broadcast.settled_at === null) return null;
  return (
    <form
      class="new"
      onSubmit={(event) => {
        event.preventDefault();
        void action
          .run(() => client.call("broadcastGroup", { path: { group: group.name }, body: { objective } }))
          .then((worked) => worked && setObjective(""));
      }}
    >
      <input
        aria-label={`Ask ${group.name}`}
        placeholder="Ask every member"
        value={objective}
        onInput={(event) => setObjective(event.currentTarget.value)}
      />
      <button type="submit" class="primary" disabled={action.busy.value || objective.trim() === ""}>
        Ask
      </button>
      <Problem text={action.problem.value} />
    </form>
  );
}
