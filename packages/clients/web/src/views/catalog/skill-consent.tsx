/** What the scan found in a skill, the consent to it, and the outcome. */
import type { useSkillChange } from "../../app/skill-change.ts";
import { oneLine, plural, visible } from "../../model/format.ts";
import { Consent, Findings } from "../../parts/consent.tsx";
import { Refused } from "../../parts/refused.tsx";

export function SkillConsent({ change }: { change: ReturnType<typeof useSkillChange> }) {
  const { shown, done } = change;
  if (shown?.outcome === "refused") return <Refused answer={shown} change={change} />;
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
