import { whyWords } from "../../../client/views/why.ts";
import { timeOfDay } from "../../../client/views/words.ts";
import type { MessageId } from "../../../contract/ids.ts";
import { oneLine } from "../../format/text.ts";
import type { Handler } from "../../program/command.ts";
import type { sessionCommands } from "./spec.ts";

const shown = 80;

export const why: Handler<typeof sessionCommands.why> = async (cx, args) => {
  const answer = await cx.call("why", { path: { message: args.message as MessageId } });
  cx.show(answer, () =>
    answer.links.map((link, index) => {
      const time = link.at === null ? "" : ` ${cx.style.dim(timeOfDay(link.at))}`;
      const text = link.text === "" ? "" : `  ${cx.style.dim(oneLine(link.text).slice(0, shown))}`;
      const last = index === answer.links.length - 1;
      return `${index === 0 ? " " : "←"} ${last ? cx.style.cyan(whyWords(link)) : whyWords(link)}${time}${text}`;
    }),
  );
};
