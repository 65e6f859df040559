/** All skills, and the form that installs one. */
import { useState } from "preact/hooks";
import { client } from "../../app/client.ts";
import { orRefused } from "../../app/refusal.ts";
import { typeBegins, useResource } from "../../app/resource.ts";
import { link } from "../../app/router.ts";
import { useSkillChange } from "../../app/skill-change.ts";
import { oneLine, visible } from "../../model/format.ts";
import { Diagnostics } from "../../parts/diagnostics.tsx";
import { Empty, Problem } from "../../parts/facts.tsx";
import { StatusWord, Table } from "../../parts/page.tsx";
import { SkillConsent } from "./skill-consent.tsx";

export function SkillList() {
  const { data, problem, reload } = useResource(
    () => client.call("listSkills", { query: { all: true } }),
    typeBegins("plugin.", "skill.", "config."),
  );
  if (data === null) return problem === null ? <Empty>Loading…</Empty> : <Problem text={problem} />;
  return (
    <>
      <Problem text={problem} />
      <Diagnostics found={data.diagnostics} />
      <Table
        label="Skills"
        rows={data.skills}
        keyOf={(one) => one.name}
        empty="No skills are installed."
        columns={[
          { name: "Skill", cell: (one) => <a href={link("catalog", "skills", one.name)}>{visible(one.name)}</a> },
          {
            name: "Usable",
            cell: (one) =>
              one.eligible ? (
                <StatusWord status="ready" />
              ) : (
                <span class="warn">{oneLine(one.missing.join(", "), 80)}</span>
              ),
          },
          { name: "From", cell: (one) => <span class="dim">{one.plugin ?? one.source}</span> },
          { name: "Description", wide: true, cell: (one) => oneLine(one.description, 160) },
        ]}
      />
      <InstallSkill changed={reload} />
    </>
  );
}

function InstallSkill({ changed }: { changed: () => void }) {
  const [source, setSource] = useState("");
  const [name, setName] = useState("");
  const [scope, setScope] = useState<"project" | "user">("project");
  const [force, setForce] = useState(false);
  const change = useSkillChange();
  const begin = () => {
    const body = { source: source.trim(), scope, force, ...(name.trim() === "" ? {} : { name: name.trim() }) };
    change.begin(async (consented) => {
      const answer = await orRefused(client.call("installSkill", { body: { ...body, ...consented } }));
      if (answer.outcome === "installed" || answer.outcome === "updated") changed();
      return answer;
    });
  };
  return (
    <>
      <h2>Install a skill</h2>
      <form
        class="fields"
        aria-label="Install a skill"
        onSubmit={(event) => {
          event.preventDefault();
          begin();
        }}
      >
        <label>
          <span>
            Source <span class="dim">a skill of the registry, gh:owner/repo, git+URL or an absolute path</span>
          </span>
          <input required value={source} onInput={(event) => setSource(event.currentTarget.value)} />
        </label>
        <label>
          <span>
            Skill <span class="dim">if the source has several</span>
          </span>
          <input value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label>
          <span>For</span>
          <select
            value={scope}
            onInput={(event) => setScope(event.currentTarget.value === "user" ? "user" : "project")}
          >
            <option value="project">this project</option>
            <option value="user">all your projects</option>
          </select>
        </label>
        <label class="check-line">
          <input type="checkbox" checked={force} onInput={(event) => setForce(event.currentTarget.checked)} />
          Replace a skill of another source, or an edited one
        </label>
        <p class="dim">
          Aegis scans the files. It installs a skill without findings at once, and asks about any other.
        </p>
        <div class="buttons">
          <button type="submit" disabled={change.action.busy.value || source.trim() === ""}>
            Scan and install
          </button>
          {change.action.busy.value ? <span class="dim">Fetching and scanning…</span> : null}
        </div>
        <Problem text={change.action.problem.value} />
      </form>
      <SkillConsent change={change} />
    </>
  );
}
