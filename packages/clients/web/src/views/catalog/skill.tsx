/** One skill: whether it can be used, its text, and its update and removal if it was installed. */
import { useState } from "preact/hooks";
import { useAction } from "../../app/busy.ts";
import { client } from "../../app/client.ts";
import { orRefused } from "../../app/refusal.ts";
import { typeBegins, useResource } from "../../app/resource.ts";
import { go, link } from "../../app/router.ts";
import { useSkillChange } from "../../app/skill-change.ts";
import { oneLine, visible } from "../../model/format.ts";
import { Diagnostics, Facts, shownFile } from "../../parts/diagnostics.tsx";
import { Empty, Problem } from "../../parts/facts.tsx";
import { Markdown } from "../../parts/markdown.tsx";
import { Page, StatusWord } from "../../parts/page.tsx";
import { SkillConsent } from "./skill-consent.tsx";

export function SkillPage({ name }: { name: string }) {
  const load = async () => {
    const [{ skill }, { skills }] = await Promise.all([
      client.call("getSkill", { path: { skill: name } }),
      client.call("listInstalledSkills"),
    ]);
    return { skill, entry: skills.find((one) => one.name === name) ?? null };
  };
  const { data, problem } = useResource(load, typeBegins("plugin.", "skill.", "config."));
  const change = useSkillChange();
  const removal = useAction();
  const [asks, setAsks] = useState(false);
  const [force, setForce] = useState(false);
  if (data === null) return problem === null ? <Empty>Loading…</Empty> : <Problem text={problem} />;
  const { skill, entry } = data;
  const path = { skill: name };
  const update = () => {
    if (entry === null) return;
    change.begin((consented) => {
      const body = { scope: entry.scope, force, ...consented };
      return orRefused(client.call("updateSkill", { path, body }));
    });
  };
  const remove = () =>
    void removal.run(async () => {
      if (entry === null) return;
      await client.call("removeSkill", { path, query: { scope: entry.scope, force } });
      go("catalog", "skills");
    });
  return (
    <Page
      title={visible(skill.name)}
      tools={
        <>
          <a href={link("catalog", "skills")}>All skills</a>
          {entry === null ? null : (
            <>
              <button type="button" disabled={change.action.busy.value} onClick={update}>
                Update
              </button>
              <button type="button" class="danger" aria-expanded={asks} onClick={() => setAsks(!asks)}>
                Remove
              </button>
            </>
          )}
        </>
      }
    >
      <Problem text={problem ?? change.action.problem.value ?? removal.problem.value} />
      {asks ? (
        <div class="buttons">
          <span>Remove {visible(skill.name)}?</span>
          <button type="button" class="danger" disabled={removal.busy.value} onClick={remove}>
            Remove it
          </button>
          <button type="button" onClick={() => setAsks(false)}>
            Keep it
          </button>
        </div>
      ) : null}
      {entry?.state === "edited" ? (
        <label class="inline check-line">
          <input type="checkbox" checked={force} onInput={(event) => setForce(event.currentTarget.checked)} />
          Its files were edited here: replace or remove them too
        </label>
      ) : null}
      <SkillConsent change={change} />
      <Diagnostics found={skill.diagnostics} />
      <p>{oneLine(skill.description, 600)}</p>
      <Facts
        facts={[
          ["Usable", skill.eligible ? <StatusWord key="usable" status="ready" /> : skill.missing.join(", ")],
          ["From", visible(entry?.source ?? skill.plugin ?? skill.source)],
          ["Version", visible(entry?.version ?? entry?.commit?.slice(0, 12) ?? "")],
          ["State", entry?.state ?? null],
          ["File", skill.file === null ? null : shownFile(skill.file)],
          ["Command", skill.user_invocable ? `/${skill.command}` : "agents only"],
          ["Agent", skill.agent],
          ["Allows without asking", skill.allowed_tools.join(", ")],
        ]}
      />
      <h2>Text</h2>
      <Markdown text={skill.body} />
    </Page>
  );
}
