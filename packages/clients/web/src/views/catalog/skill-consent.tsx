/** What the scan found in a skill, the consent to it, and the outcome. */
import { useState } from "preact/hooks";
import type { SkillAnswer, useSkillChange } from "../../app/skill-change.ts";
import { oneLine, plural, visible } from "../../model/format.ts";
import { Consent, Findings } from "../../parts/consent.tsx";

type SkillChange = ReturnType<typeof useSkillChange>;

export function SkillConsent({ change, override }: { change: SkillChange; override: (name: string) => void }) {
  const { shown, done } = change;
  if (shown?.outcome === "refused") return <Refused shown={shown} change={change} override={override} />;
  if (shown !== null)
    return (
      <Consent
        question={`Install ${shown.skill.name} ${shown.skill.version ?? ""} despite the findings of the scan?`}
        confirmLabel="Install it anyway"
        lines={[
          { level: "info", text: `${shown.skill.name}: ${oneLine(shown.skill.description, 300)}` },
          { level: "info", text: `${plural(shown.skill.files, "file")} from ${shown.skill.source}` },
        ]}
        findings={shown.skill.findings}
        change={change}
      />
    );
  if (done === null || done.outcome === "refused") return null;
  return (
    <section class="consent" aria-label="Result" role="status">
      <h2>
        {visible(done.skill.name)} {visible(done.skill.version ?? "")} is {done.outcome}
      </h2>
      <Findings findings={done.skill.findings} />
    </section>
  );
}

/** Malicious text that is only quoted can be accepted by a person who types the name, as on the command line. */
function Refused(props: {
  shown: Extract<SkillAnswer, { outcome: "refused" }>;
  change: SkillChange;
  override: (name: string) => void;
}) {
  const { shown, change } = props;
  const { overridable, findings } = shown.refused;
  const [typed, setTyped] = useState("");
  return (
    <section class="consent" aria-label="Refused">
      <h2 class="err">{oneLine(shown.message, 300)}</h2>
      <Findings findings={findings} />
      {overridable === null ? null : (
        <label class="inline">
          All malicious text in it is quoted. Type {visible(overridable.name)} to install it anyway:
          <input value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
      )}
      <div class="buttons">
        {overridable === null ? null : (
          <button
            type="button"
            class="danger"
            disabled={typed !== overridable.name || change.action.busy.value}
            onClick={() => {
              props.override(typed);
              change.confirm();
            }}
          >
            Install it anyway
          </button>
        )}
        <button type="button" onClick={change.cancel}>
          Cancel
        </button>
      </div>
    </section>
  );
}
