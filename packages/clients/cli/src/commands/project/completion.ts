/** `aegis completion`: prints a shell script that asks `aegis __complete` for candidates. */
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { Handler } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import type { projectCommands } from "./spec.ts";

export const completion: Handler<typeof projectCommands.completion> = async (cx, args) => {
  const script = scripts[args.shell];
  if (script === undefined) {
    const near = didYouMean(args.shell, Object.keys(scripts));
    throw usageError(`no completion for "${args.shell}"${near}: expected bash, zsh or fish`);
  }
  if (cx.json) cx.printJson({ shell: args.shell, script });
  else cx.write(script);
};

/**
 * The script passes the words up to the cursor; the last one may be partial. It receives one candidate per line, with a
 * tab before the description. The line `:files` asks the shell to complete file names itself.
 */
const scripts: Readonly<Record<string, string>> = {
  bash: `# Completion of aegis for bash. Load it with: eval "$(aegis completion bash)"
_aegis() {
  local IFS=$'\\n' line
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  COMPREPLY=()
  while read -r line; do
    if [[ "$line" == ":files" ]]; then
      COMPREPLY+=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
    else
      COMPREPLY+=("\${line%%$'\\t'*}")
    fi
  done < <(aegis __complete "\${words[@]}" 2>/dev/null)
}
complete -F _aegis aegis
`,
  zsh: `#compdef aegis
# Completion of aegis for zsh. Load it with: eval "$(aegis completion zsh)"
_aegis() {
  local line
  local -a found
  for line in "\${(@f)$(aegis __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -z "$line" ]] && continue
    if [[ "$line" == ":files" ]]; then
      _files
    else
      found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    fi
  done
  (( \${#found} )) && _describe -V aegis found
}
compdef _aegis aegis
`,
  fish: `# Completion of aegis for fish. Load it with: aegis completion fish | source
function __aegis_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in (aegis __complete $words[2..-1] 2>/dev/null)
    if test "$line" = ":files"
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c aegis -f -a "(__aegis_complete)"
`,
};
