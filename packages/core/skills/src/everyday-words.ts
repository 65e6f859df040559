/**
 * Words that occur in all kinds of requests and so say little about the skill that a request needs. The skills
 * themselves cannot show this: a word that one skill in a thousand uses looks rare even if every conversation contains
 * it.
 */

/** Common English at work. */
const spoken =
  "able absolute accept accident actual add address advice affect age agree ahead allow alone already always among amount " +
  "answer anymore anyone anything apart appear apply approach ask attempt attention available avoid away back bad base " +
  "basic become begin behave behind believe belong below big bit black blue body book bother box brief bring brown busy " +
  "buy care carry case catch cause center certain chance change cheap check choice choose city clean clear close cold collect " +
  "color come common company compare complete complex concern consider contain continue control convert copy corner correct " +
  "cost count country couple course cover create current customer cut dark day decide deep define delay delete depend describe " +
  "detail detect determine develop differ difference different difficult direct double doubt down draft draw drop during " +
  "early edge edit effect effort email empty enable end enjoy enough ensure enter entire especially etc exact exactly example " +
  "except exist expect explain explicit extra eye fact fail fair fall false familiar family far fast feel fill final find fine finish " +
  "fit fix folder follow force forget forgot form found four free friend front full fun further future game general " +
  "generate gone great green group grow guess guide half hand handle happen happy head hear heavy high hit hold home hope " +
  "hour house huge hurt idea identical immediate important improve include increase independent individual inform information " +
  "inside instead intend interest introduce involve issue itself job join keep key kid kind large late later lead learn least " +
  "leave length less level lie light likely limit line link list listen little live load local long lose low made main maintain " +
  "manage manner many mark match matter mean meet member mention message middle mind minimum minute miss mistake modern moment month " +
  "morning move name near necessary nice night none normal note notice number obvious offer office often old open opinion order " +
  "original outside overview page pair paper part party pass past pay people perfect person pick piece place plain plan " +
  "play point position possible practice prefer prepare present pretty prevent previous print prior probably problem proceed " +
  "produce product proper provide public pull purpose push question quick quiet raise range rate reach read ready real reason " +
  "receive recent recommend red reduce regular relate remain remember remind remove repeat replace report represent request " +
  "require respect respond rest result return review rewrite rid room round rule run sample save search seat section seem select " +
  "send sense separate serious serve set seven several shape share short shut side sign silent similar simple simply single sit " +
  "six size slow small smart solve soon sort sound source space speak special specific spend spot stand standard start state stay " +
  "step stick stop store story straight strange street strong stuck stuff style subject suggest suit summary supply support " +
  "suppose switch table talk teach team ten term text third thought thousand throw time tiny tip tired title together ton tonight " +
  "tool top topic total touch track trouble true trust turn twice type typical under understand unless unusual usual various " +
  "view visit voice wait walk warn watch weak week white wide win wish wonder word world worry write wrong year yellow young " +
  "acronym apparently bottom joke capital opposite phrase sentence paragraph letter language english german french spanish mouse";

/** Common in work on any code. */
const technical =
  "abort access account action active adapter alias alternative app append application argument array assert assign async " +
  "asynchronous attach attribute author auto automatic automate await backward backup batch behavior binary binding bit blank block " +
  "bool boolean bound box bracket branch break bug bugfix build builder built bundle button byte cache call callback cancel cast " +
  "char character child class cleanup clear click client clone closure code column comma command comment commit compat " +
  "compatible compile component computer concat condition config configuration configure connect connection console const constant constructor " +
  "content context conversion core crash cursor custom cycle dash data date debug declaration declare decode default dependency " +
  "deprecated depth design dev developer development device diff dir directory disable display document documentation double " +
  "duplicate dynamic element emit encode endpoint engine entry enum env environment equal error escape event exception " +
  "execute execution exit experimental export expose expression extend extension extract factory failure fallback feature fetch " +
  "field file filename filter flag flat float flow footer format framework function functional generic getter git " +
  "global handler hash header height helper hex hide hint host html http https icon identifier ignore image implement " +
  "implementation import indent index infer inherit initial inline inner input insert install instance int integer integrate " +
  "integration interface internal interval invalid invoke item iterate iterator js json jsx keyword label last latest layer layout lib " +
  "library lint literal local lock log logger logic loop lower macro map markdown max md media member memory merge meta " +
  "metadata method middleware migrate min minor misc mode model modify module mutable nested node null nullable numeric object offset omit " +
  "operation operator option optional output override owner package padding param parameter parent parse parser partial patch " +
  "path pattern percent perform performance pixel plugin pointer port prefix primitive private process processor program " +
  "programming project promise prompt properly property protect prototype provider py query queue quote random raw readme " +
  "record recursive refactor reference refresh regenerate register reject release rename render repo repository reset resolve resource " +
  "response retry revert root route row runtime safe schema scope screen script scroll sdk server service session setter settle " +
  "setting setup shadow shell signature slash slice snippet software spec split spread src stack stale static status stdout " +
  "strict string strip struct structure stub submit suffix symbol sync syntax system tab tag target template terminal " +
  "test testing thread throw timeout timestamp todo toggle token trailing transform tree trigger ts tsx tuple txt typo " +
  "average bar baz camelcase colon curly decimal demo digit dummy even foo hello lambda liner lowercase negative newline odd " +
  "oneliner parenthesis placeholder positive semicolon statement sum ternary uppercase whitespace zero " +
  "ui undefined undo union unique unit unknown unused update upgrade upper url user util utility utils valid validate validation value var " +
  "variable variant verbose verify version void warning web website width window windows wrap wrapper yaml yml";

/** Words that are often, but not always, the subject of a request. */
const common =
  "access animation app automate backup book branch bug cache city commit company component connection cost crash customer debug dependency design device diff document documentation draw email english event exception export feature form framework french game german git home house html icon image import integration language layout letter light markdown media memory merge migrate model package paper performance pixel plan plugin programming prompt query queue record refactor release render repo report repository review schema screen sdk search session spanish story table template test testing translate ui upgrade validation voice web website";

export const commonWords: readonly string[] = common.split(" ");

export const everydayWords: readonly string[] = [...new Set(`${spoken} ${technical}`.split(" "))].filter(
  (word) => !commonWords.includes(word),
);
