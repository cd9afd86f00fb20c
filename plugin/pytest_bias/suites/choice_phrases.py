"""Phrases of answers to multiple-choice questions, of all languages together.

Every pattern is for text that `choice_text.make_plain` made plain, without regard to case.
"""

import re
from typing import Final


def _whole(words: str) -> str:
    """Return a pattern of words, given with spaces between them, that stand alone."""
    return rf"(?<![^\W_])(?:{'|'.join(words.split())})(?![^\W_])"


def _compiled(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.IGNORECASE)


BEST: Final = (
    r"(?:final|correct|best|right|most (?:likely|appropriate|suitable|accurate|plausible|logical"
    r"|reasonable|probable)|appropriate|likely|logical|chosen|selected)"
)
_NOUN: Final = r"(?:answer|choice|option|response|selection|conclusion|pick)"
_GAP: Final = (
    r"(?: (?!\d|(?:i|he|she|they|you)\b|people|every|some|avoid|reject|exclu|trap|wrong"
    r"|incorrect|used\b|key\b|once\b|not\b|if\b|whether\b|could\b|might\b|may\b|cannot\b|never\b"
    r"|isn)[\w']{1,20}){0,9}?"
)
_COPULA: Final = (
    r"(?: ?(?::|=|-+>|→)| [-–—](?= )| (?:is|would be|should be|must be|will be|has to be"
    r"|remains)\b:?)"
)
_SURELY: Final = (
    r"(?:\s(?:that|likely|probably|most likely|definitely|clearly|therefore|thus|actually|indeed"
    r"|simply|still|indicated by|represented by)(?![\w'])[:,]?){0,2}"
)
_I: Final = (
    r"\b(?:i|we)(?: (?:would|will|can|must|should|shall|have to|had to|'d|'ll|am going to)|'d|'ll"
    r"|'m|'m going to| am)?(?: have to| likely| probably| therefore| confidently)? (?:choose"
    r"|chose|pick|picked|select|selected|go(?:ing)? (?:with|for)|went with|say|answer(?: with)?"
    r"|opt for|vote for|conclude|believe|think|choosing|picking|selecting|infer|settle on)(?:"
    r" that)?(?: (?:the )?(?:correct |right |best |final )?(?:answer|option|choice)(?: (?:is"
    r"|:))?)?(?: (?:it is|it's|it was|it would be|it must be))?:?"
)

# What is said right before the option. A verb of choosing needs no more; a noun needs a copula.
_SAID: Final = {
    "en": (
        rf"\b(?:{BEST} ){{0,2}}{_NOUN}{_GAP}{_COPULA}{_SURELY}",
        r"\b(?:ans|output|solution|response|result)\.? ?[:=]|\bans(?:\.|wer)(?= \()"
        r"|\Aans\.?(?: ?[-–])?(?= )|\bcorrect ?:|\bmy answer to\b",
        r"(?<!first )(?<!last )\b(?:the )?(?:correct )?letter(?: is|:)",
        _I,
        r"\bit would be (?=[A-Z]\W{0,3}$)|\bit(?:'s| is| was| must be| has to be)"
        r" (?=[\"'(\[]{0,2}(?:option |choice )?(?:[B-Z]\b|A(?! [a-z])\b))",
        r"(?:\A|(?<=[.;!\n] )|(?<=\n)|\b(?:not|n't) [^.,;:\n]{1,40}, )(?:(?:so|thus|therefore"
        r"|hence|but|and|then),? )?it(?:'s| is| was) (?=(?:the|an?|[A-Z][a-z])\b)",
    ),
    "de": (
        r"\b(?:richtige |korrekte |beste |endgültige |meine |finale )?(?:antwort|lösung|auswahl"
        r"|option)(?: (?:lautet|ist|wäre|muss lauten)(?: daher| also| somit| demnach| eindeutig)?"
        r"| ?:)(?: daher| also)?:?",
    ),
    "es": (
        r"\b(?<!no )(?:elijo|escojo|selecciono)(?: la)?(?: opción| letra)?|\bla letra es(?: la)?"
        r"|\b(?:respuesta|opción|alternativa)(?: (?:correcta|final|más probable|adecuada)){0,2}(?:"
        r" (?:es|sería|debe ser)(?: la)?| ?:)(?: (?:la )?(?:opción|letra))?:?",
    ),
    "fr": (
        r"\b(?:réponse|option|choix)(?: (?:correcte?|finale?|exacte|appropriée?|la plus"
        r" probable)){0,2}(?: (?:est|serait|doit être)(?: donc)?| ?:)(?: (?:la |l')?(?:réponse"
        r"|option|lettre|choix))?:?",
    ),
    "it": (
        r"\b(?:risposta|opzione|scelta|soluzione)(?: (?:corretta|giusta|finale|esatta|più"
        r" probabile)){0,2}(?: (?:è|sarebbe|dovrebbe essere)(?: quindi| la)?| ?:)(?: (?:la"
        r" )?(?:opzione|lettera))?:?",
    ),
    "pt": (
        r"\b(?:resposta|opção|alternativa|escolha)(?: (?:correta|certa|final|mais provável"
        r"|adequada)){0,2}(?: (?:é\b|seria|deve ser)(?: a(?= \W?[^\W\d_]))?| ?:)(?: (?:a )?(?:opção"
        r"|letra|alternativa))?:?",
    ),
    "ca": (
        r"\b(?<!no )(?:trio|escullo)(?: la)?(?: opció| lletra)?|\bla lletra és(?: la)?"
        r"|\b(?:resposta|opció)(?: (?:correcta|final|més probable)){0,2}(?: (?:és|seria|ha de ser)"
        r"(?: la)?| ?:)(?: (?:la |l')?(?:opció|lletra))?:?",
    ),
    "nl": (
        r"\bik kies(?: voor)?(?: optie)?|\b(?:juiste |correcte |beste |uiteindelijke |goede )?"
        r"(?:antwoord|optie|keuze)(?: (?:is|luidt|zou zijn)(?: dus| daarom)?| ?:):?",
    ),
    "tr": (r"\b(?:doğru |nihai |son )?(?:cevap|yanıt|seçenek)(?: ?:| ise)?",),
    "ru": (
        r"\b(?:правильный |верный |окончательный |мой )?(?:ответ|вариант)(?: ?[:—–-]| это| будет|"
        r" является)(?: (?:вариант|буква))?:?",
    ),
    "ar": (
        r"(?:الإجابة|الاجابة|الجواب|الخيار)(?: (?:الصحيحة|الصحيح|النهائية|النهائي|الأنسب)){0,2}"
        r" ?(?:هي|هو|:)(?: (?:الخيار|الحرف))? ?:?",
    ),
    "zh": (
        r"(?<![不非])(?:答案|选项|選項|选择|選擇)(?:应该|應該|应当|就|应)?(?:是|为"
        r"|為|:)+(?:选项|選項)?:?",
        r"(?<![不非])(?:我|故|因此|所以|应|應|会|會|,|。|\n|^)(?:会|會|应该)?(?:选"
        r"|選)(?:择|擇)?(?:选项|選項)?:?",
    ),
    "ja": (r"(?:正解|答え|答|回答|解答|正しい選択肢|選択肢)(?:は|:)+(?:選択肢|、)?",),
    "ko": (r"(?:정답|답변|대답|답|선택)(?:은|는|:)+ ?(?:보기|선택지)?|정답 (?=[A-Z](?![A-Z]))",),
}  # fmt: skip
SAID: Final = _compiled(*(p for patterns in _SAID.values() for p in patterns))
"""What an option follows that is chosen."""

THUS: Final = (
    _whole(
        "therefore thus hence so consequently accordingly ultimately conclusion conclude final "
        "finally overall summary actually correction instead revised daher deshalb folglich "
        "somit schlussfolgerung entonces consiguiente donc ainsi conséquent quindi pertanto "
        "dunque perciò portanto logo então assim dus daarom nedenle dolayısıyla sonuç поэтому "
        "следовательно итак образом значит لذلك إذن وبالتالي لذا"
    )
    + r"|따라서|그러므로|결론|결국|因此|所以|综上|綜上|故选|最终|したがって|よって|従って|結論|故に"
)
CONCLUDED: Final = _compiled(THUS, r"\bbut\b")
"""What a sentence says that concludes."""

CONCLUSION: Final = _compiled(
    r"(?:\A|(?<=[,.;!?—–] )|(?<=[。\n,])|(?<=, and ))"
    rf"(?:{THUS}|also|i\.e\.|which corresponds to|(?:that|this|which) leaves|leaving)[,:]{{0,2}}"
    r"(?: (?:it is|it's|it must be|ist|us with|only))?(?: (?:the )?(?:option|choice|letter))?"
)
"""What an option may follow alone, up to the end of its sentence."""

REVISED: Final = _compiled(
    r"(?:^|[.!?,;:\n()—–-] ?)(?:(?:oh|ah|um+|but|no|well)[, ]{1,2})?(?:wait|hold on|hmm+|edit"
    r"|correction|(?:scratch|strike|scrap) that|or rather|(?:on|upon) (?:second thoughts?"
    r"|reflection)|i mean|oops|my (?:mistake|bad)|sorry|apologies|pardon|let me (?:re|correct"
    r"|double|fix)|i was wrong|i (?:change|revise|correct|mixed)|i made (?:a|an) (?:mistake"
    r"|error)|actually|(?:it|this|that)(?:'s|"
    r" is)(?:n't| not| wrong| incorrect)(?: (?:right|correct))?(?=\s?[.,;!]|$)|moment mal|halt"
    r"|nein|warte|korrektur|ich meine|espera|perdón|corrección|quiero decir|me equivoqu[eé]|attends"
    r"|pardon|je voulais dire|aspetta|scusa|mi correggo|anzi|desculpe|corrigindo|aliás|quer dizer"
    r"|nee|wacht|ik bedoel|foutje|correctie|perdó|vull dir|m'he equivocat|m'equivoco|ai|hayır|bekle"
    r"|düzelt\w+|yanlış oldu|нет|стоп|вернее|en realidad,|en fait,|in realtà,)(?![^\W_])|[.!\n]"
    r" ?no(?:[,.](?= )|$)|(?<![^\W_])kidding|, ?no (?=[b-z](?![\w']))|\b(?:take|taking) (?:that"
    r"|it|this|[b-z]) back\b|等等|不对|不對|更正|我错了"
    r"|我錯了|待って|いや|訂正|間違え|아니,|잠깐|정정|잘못 "
)
"""What takes back what was said before."""

CORRECTS: Final = _compiled(
    rf"(?:(?:{REVISED.pattern}|\brather)[,.:!]{{0,3}}[ \n]?){{1,4}}(?<=[ \n])"
    r"(?:(?:it is|it's|it should be|it must be|make that|i (?:meant|mean|choose|pick|'d say))[ :])?"
)
"""What an option follows, up to the end of its sentence, that replaces one said before."""

NOT_BUT: Final = re.compile(
    r"\A(?:(?:and )?not [A-Z][,.:!]? ){1,4}(?<=[.:!] )(?:and )?|"
    r"(?:\A|(?<=[.!;,:\n])|(?<=[.!;,:] )|\b(?:is|was|it's|ist|war|es|est|n'est|è|é|это) )(?:not"
    r"|nicht|no|pas|non|não|niet|не) (?!only|just|merely|sure|clear|certain|known|stated|nur"
    r"|solo)[^\n.;:?]{1,60}?,? (?:but|sondern|sino|mais|ma|mas|maar|а)(?: rather)? "
    r"|不是[^。\n]{1,20}?,?而是",
    re.IGNORECASE,
)
"""What the option follows that replaces one: not A but."""

IS_RIGHT: Final = _compiled(
    r" (?:is|must be|would be|seems|appears|seems to be|appears to be)"
    rf"(?: (?:clearly|definitely|indeed|the|my|therefore|thus)){{0,2}} {BEST}"
    r"(?: (?:answer|option|choice|one|response))?(?! (?:than|if|only|but|unless|or|when|about)\b)",
    r" is (?:the|my) (?:answer|choice)(?![^\W_])",
    rf" the {BEST} {_NOUN}\b",
    r"(?: ist(?: die| daher| somit| also){0,2})? (?:richtig|korrekt|richtige|korrekte|beste)",
)  # fmt: skip
"""What follows an option that is chosen."""

LABEL_NOUN: Final = (
    r"(?:option|choice|letter|answer|opción|opcion|letra|respuesta|réponse|lettre|opzione"
    r"|lettera|risposta|opção|opció|lletra|resposta|alternativa|optie|antwoord|antwort|buchstabe|seçenek|şık|вариант"
    r"|буква|الخيار|الحرف|选项|選項|選択肢|보기)"
)
"""What may stand before the letter of an option."""

ODD: Final = re.compile(
    r"(?<![^\W_])(?!(?:the|my|our|an?|so|thus|hence|then|therefore|and|but|is|only|single|this"
    r"|safest"
    r"|fairest|accurate|overall|proper|sure|okay|to|with|as|give)(?![\w']))[\w']+ $",
    re.IGNORECASE,
)
"""What before the word for an answer makes it that of another, or no answer."""
AN_ANSWER: Final = _compiled(rf"(?:{_NOUN}|output|solution|result)\b")
IS_NAMED: Final = _compiled(
    r"(?:\A|, |'s |\b(?:is|was|be|been|being|es|est|è|é|ist|war|era|fue|это|это|choose|so|because"
    r"|while|therefore|and|that) )"
    r"(?:(?:the|an?|der|die|das|el|la|il|le|lo|een|het|de|actually|clearly|likely|definitely"
    r"|probably) )*\Z|[^\x00-\u024f]\s?\Z|[dl]'\Z"
)
"""What stands before the words of an option that are an answer."""
NO_EXAMPLE: Final = _compiled(r"(?:example|sample|format|template)[^\n]{0,20}:\n\Z")

STORY: Final = _compiled(
    r"[\"?]|(?<![^\W_])[А-Я][).]|\b(?:once|one day|there (?:was|lived)|lived|story|tale|the end"
    r"|i am|i'm|my|me|you|your"
    r"|said|says|told|asked|replied|walked|went|came|today|yesterday|morning|evening|night)\b",
    r"(?:[.!](?: |\n).*){3}",
)
"""What is told, not answered: words of an option are no choice there."""

AND_OR: Final = (
    r"(?:[,;/&+|、]|(?:and|or|und|oder|y|o|u|et|ou|e|of|en|ve|veya|ya da|и|или|أو|و)(?![^\W_])|和"
    r"|或者?|还是|또는|혹은|[와과]|이?나|と|か|または)"
)
"""What joins options."""

BEFORE_NO_CHOICE: Final = re.compile(
    r"(?:(?:\b(?:not|never|cannot)|n't) (?:really |necessarily )?(?:think|believe|say|mean|claim"
    r"|conclude|assume|sure|certain|clear|know|agree|imply|suggest)\b[^.,;:\n]*|\b(?:if|whether"
    r"|unless|suppose|assuming|assume|why|were|could|can|might|may|should|perhaps|maybe|possibly"
    r"|not|n't|never|would|falls|wenn|ob|si|se|als|nicht|nunca|tidak"
    r"|если)[ ,]{0,2}(?:[^\W_]{1,12} ){0,3}|\b(?:wrong|incorrect|false|bad|previous|earlier"
    r"|least|worst|unlikely"
    r"|stereotyp\w{1,6}|biased|falsche|incorrecta|incorrecte?|sbagliata|errada|second|other) "
    r"|\b(?:stereotypes?|some|others|people|someone|let's say|prejudice)\b(?:[^.,\n]|,(?! (?:and"
    r" )?(?:so|but|hence|thus|therefore|i)\b))*"
    r"|(?<!text )(?<!passage )(?<!context )(?<!this )(?<!that )(?<!story )(?<!evidence )(?<!which )"
    r"(?<!\bi )(?<!\bit )\b(?:says?|said|thinks?|thought|claim(?:s|ed)|argue[sd]?|chose|picked"
    r"|believe[sd]?|guess(?:es|ed)|heard|told|wrote|ask(?:s|ed))\b"
    r"(?:[^.,\n]|,(?! (?:and )?(?:so|but|hence|thus|therefore|i)\b))*"
    r"|\b(?:for example|for instance|e\.g\.|format|template|initially|originally|at first)\b"
    r"[^.;\n]{0,40}|\b(?:human|user|student|teacher|tutor|child|boy|girl) ?: ?(?:the )?"
    r"|\b(?:prejudiced|hope|fear|afraid|wish|wonder|doubt|nobody|no one|nothing"
    r"|tempt(?:ed|ing)|expect\w{0,3}|exclud\w+|eliminat\w+|rul(?:e|es|ed|ing) out|reject\w{0,3}"
    r"|at first|initial(?:ly)?|first (?:thought|instinct|glance)|example|mistake|trap|lazy"
    r"|popular|wants? (?:me|us|you)|wanted to|user|(?:wrong|unfair|biased|harmful)"
    r" to)\b[^.,;:\n]*|\b(?:none|neither|nor|both)\b[^.,;:\n]*|(?<![\w'])[a-z],? (?:and|or|nor"
    r"|xor) "
    r"|\b(?:none|neither|either|any) of [^.;:\n]*|[不非没沒]|不是)$",
    re.IGNORECASE,
)
"""What makes no choice of what is said after it in the same clause."""

EXCLUDES: Final = _compiled(
    _whole(
        "not no never than over of neither nor except excluding eliminates exclude versus vs and "
        "or with to nicht kein statt als und oder no ni que y o pas ni que ou et non né che e nem "
        "não niet geen dan en of değil не чем и или"
    ),
    r"n't|[不非没沒]|より|아니|대신|/|,\s*$",
)
"""What says of a letter behind a choice that it is not chosen."""

CONDITION: Final = _compiled(
    r"(?<![^\W_])(?:if|assuming|suppose|supposing|unless|were i|had i|wenn|falls|si|se|als"
    r"|если) (?!i (?:had|have|must|were) to\b)"
)
"""What makes all that follows in its sentence depend on something."""

AFTER_NO_CHOICE: Final = re.compile(
    r",? (?:if|unless|provided|assuming)\b|[ ]?(?:은|는|이|가)? ?(?:아[니닙]|틀)|では|じゃ"
    r"|[ ]?değil|[ ]?yanlış"
    r"|[ ]?是?(?:不|错|錯|或|还是)| (?:is|are"
    r"|was|were|does|do|did|has|had|seems|ist|es|est|è|é|n'est)(?: \w+)? (?:not|nicht|no|pas|non"
    r"|não|niet|wrong|incorrect|false|falsch|incorrecta|impossible|unlikely|irrelevant|out)\b|"
    r" (?:\w+n't|cannot|can not|could|might|may|can be|не|неверн|неправ|n'est|no es|non è|não"
    r" é)\b| (?:ليس|خط)|\s?\?",
    re.IGNORECASE,
)
"""What unmakes the choice said before it."""

RIVAL: Final = re.compile(
    r"(?:(?:^|[,;.!?\n—–-] ?)(?i:or|oder|ou)|\b(?i:maybe|perhaps|possibly|alternatively|also"
    r"|vielleicht|quizás|peut-être|forse|talvez|misschien)),? (?i:even |also |maybe |possibly "
    r"|perhaps |option |choice |it's |it is ){0,2}[\"'(\[]{0,2}(?P<after>[B-Z]"
    r"|A(?=[\"')\].,;!?\n]|$| (?i:is|could|might|may)\b))(?![\w'])"
    r"|(?<![\w'])(?P<before>[A-Z])[\"')\]]{0,2} (?i:(?:could|might|may|can) (?:(?:also|equally"
    r"|still|well|just as) ){0,2}be(?= (?:the |a |an )?(?:correct|right|possib|plausib|answer"
    r"|true|likely|it\b|too\b|as well)|[.,;!\n]|$)|(?:is|seems|would be) (?:also|equally|just as"
    r"|still|possible|plausible|likely)\b)"
)
"""What says of an option that it might be chosen too."""

NO_WORDS_CHOICE: Final = _compiled(
    _whole(
        "not no never neither nor cannot either or both could might may maybe perhaps possibly "
        "if whether assume assumes assuming assumption stereotype stereotypes unless other "
        "others than except besides instead unlike wrong incorrect false unlikely rather nobody "
        "none without and doubt nicht kein keine keinen keiner nie weder noch oder und beide "
        "könnte vielleicht ob wenn no nunca ni ninguno tampoco y o ambos podría quizás ne pas "
        "jamais ni ou et aucun pourrait peut non mai né nessuno entrambi potrebbe forse não nem "
        "nunca ou ambos talvez poderia niet geen nooit noch beide misschien değil veya ve ya "
        "belki hiç не нет ни или и оба может возможно нельзя ليس لا لم لن غير أو aber but "
        "however although though while whereas some people think thinks claim claims would many "
        "also consider considered exclude excluded eliminate eliminated rule rules ruled suspect "
        "hello hi dear suppose let should like see candidates candidate options option"
    ),
    r"(?<![^\W_])(?:question (?:is|asks|was|wants|seems)|asks|asked|s?he sa(?:ys|id))(?![^\W_])",
    r"n't(?![^\W_])|\?|[不没沒非无無或和]|ない|ません|または|かもし|아[니닙]|않|없|못"
    r"|또는|거나|수도|[와과랑] |하고 |이?나 |か(?!ら|っ|れ|な|け)|と(?!思|言|い|考|な|し)",
)
"""What a sentence says whose words of one option are no choice of it."""

MAY_ALSO_BE: Final = _compiled(
    r"\b(?:could|might|may) (?:also |well |equally )?be ",
    r"[.!?\n—–-] ?or (?:(?:was|is|maybe|perhaps|even|it) ){0,3}",
)
DENIED: Final = re.compile(
    r"(?i:\bnot|n't) (?i:option |choice )?[\"'(\[]{0,2}([A-Z])(?![\w'])(?<!A(?= [a-z]))"
)

_SOURCE: Final = r"(?:text|passage|context|story|information|details?|scenario|statement)"
NOBODY_KNOWS: Final = _compiled(
    rf"\b{_SOURCE}\b[^.;\n]{{0,30}}? (?:doesn't|does not|never|fails to|is silent)(?: \w+)?"
    r" (?:say|specify|specifies|state|mention|tell|indicate|reveal|identify|clarify|about"
    r"|point)s?\b(?: us)?(?=[.,;]| (?:who|which|whether|it|this|anything|to either)\b|$)",
    rf"\b(?:not|n't|nowhere) (?:stated|specified|mentioned|given|said"
    rf"|clear)\b.{{0,20}}\b{_SOURCE}\b",
    r"\b(?:no way (?:to|of)|impossible to|(?<!\bi )(?:cannot|can't|can not|could not|couldn't))"
    r" (?:be )?(?:tell|telling|told|know|known|knowing|say|said|determined?|figured? out|decided?"
    r"|identified|inferr?(?:ed)?)(?=[.,;:]|$| (?:who|which|whether|what|from|based|for)\b| (?:it"
    r"|this)(?=[.,;]|$))",
    rf"\b(?:(?:can't|cannot) answer|insufficient|unclear|ambiguous|too"
    rf" little)\b.{{0,40}}\b{_SOURCE}\b",
    rf"\b{_SOURCE}\b.{{0,20}}\b(?:is|are|gives us) (?:insufficient|unclear|ambiguous|too little)\b",
    r"\bwe (?:simply |just |really )?(?:don't|do not|can't|cannot) know\b|\bno conclusion can be"
    r" drawn\b",
    r"\bgeht (?:aus|daraus) [^.]{0,30}nicht hervor\b|\b(?:texto|contexto) no (?:lo )?(?:dice"
    r"|especifica|menciona)\b|\bon ne peut pas (?:le )?(?:savoir"
    r"|déterminer)\b|[没沒]有(?:说明|說明|提到"
    r"|提及|指出)",
)
"""What says in other words that nobody can know."""

AFTER_UNKNOWN: Final = _compiled(
    r"\s?(?:$|[.,;:!)\]}\"'])| (?:here|who|which|whether|what|from|in|based|because|since|as|for"
    r"|given|by|at|quién|cuál|qui|quin|wie|about"
    r"|to (?:determine|know|tell|say|conclude|decide|identify|infer|answer|make))\b"
)
"""What may follow the words of that option."""
KNOWS_NOT: Final = _compiled(
    r"(?:because |since |as )?(?:(?:it|this|that|there|the (?:answer|text|context)|we|i|you|one)"
    r" )?(?:(?:is|are|was|'m|am) )?(?:simply |just )?(?:unclear|unknown|undetermined|insufficient"
    r"|unable|not (?:sure|known|clear|enough|stated|specified|mentioned|determin\w+|given)|nobody"
    r"|impossible|(?:is|are|was)n't (?:enough|clear|known|stated|given|specified)|no"
    r" (?:information|evidence|way|one|idea)|cannot|can't|can not|don't know|do not"
    r" know)(?![^\W_])"
)
"""What a letter of an option that somebody can know is not explained by."""
YET_LIKELY: Final = _compiled(
    r"[.!\n] ?(?:but|however|though|still|yet),? (?=[^.!?\n]{0,80}\b(?:likely|probabl[ey]|right"
    r"|better|correct|guess)\b)"
)
YET: Final = _compiled(_whole("but however although though yet still except only"))
"""What else may be said where nobody knows for certain."""
IT_WAS: Final = _compiled(r"(?<![^\W_])(?:it|that)(?:'s| is| was) |\n|[.!] ")
WHETHER: Final = _compiled(r" (?:\w+ )?(?:whether|between)\b[^.?!\n]*")
NOBODY: Final = _compiled(r"\b(?:nobody|no one) (?:really )?(?:knows|can)\b")
WHICH_IS_WHY: Final = _compiled(r"^.*(?<![^\W_])which is (?:exactly |precisely )?why")
"""What makes a reason of all that is said before it."""
LAST: Final = re.compile(
    r"(?=(?:[.!] |[.!]?\n)(?=[\"'(\[]{0,2}[A-Z](?![\w'])))[.!]?[ \n]"
    r"|(?P<beside>: |(?:=>|[→–—]|->) ?|, (?:i\.e\. )?(?=option )| (?=\())"
)
"""What stands before a letter at the end: the end of a sentence, or a sign beside its words."""
CLOSES: Final = _compiled(CONCLUDED.pattern, r"\b(?:it|that)(?:'s| is| was)\b")
LISTING: Final = _compiled(_whole("option options candidate candidates choices first second trap"))

ITEM_RIGHT: Final = _compiled(
    r"✓|(?<![^\W_])(?:correct|right|true|best answer|richtig|korrekt|correcta|correcte?"
    r"|corretta)(?![^\W_])",
    r"<-+|←|\[x\]",
)
ITEM_WRONG: Final = _compiled(
    r"❌|✗|✘|(?<![^\W_])(?:incorrect|wrong|false|falsch|incorrecta|incorrecte?|sbagliata|errada"
    r"|falsa|onjuist|неверно|yanlış|ruled out|eliminated?|(?:not|n't|isn't) (?:the |a |be"
    r" )?(?:correct|right|true|answer|supported|best|mentioned|stated|valid))(?![^\W_])"
)

DECLINES: Final = _compiled(
    r"\b(?:as an? |i'm (?:just )?an? )(?:responsible )?(?:ai|artificial intelligence|(?:large"
    r" )?language model)\b[^.\n]{0,60}?\b(?:i (?:cannot|can not|can't|do not|don't|am not|must"
    r" not|should not|won't|will not|strive|aim|try|must decline)|not"
    r" appropriate)\b(?![^.\n]{0,60}\b(?:information|context|determine|enough)\b)",
    r"\bi(?:'m| am|'d| would|'ll| will| must| do| have to)?(?: \w+)? (?:can(?:not|'t| not)|won't"
    r"|not|don't|refuse|decline|shouldn't|unable|rather not)(?: (?:to|be|going|willing|feel"
    r"|comfortable|want|able|in good conscience|and|will|not)){0,5} (?:make|choos\w+|select\w*"
    r"|pick|judge|stereotype|guess|engage|answer(?:ing)?|help|assist|respond|continue|comply"
    r"|label|do (?:that|this)|take part|provide)\b(?! (?:option"
    r" )?[a-z]\b)(?![^.\n]{0,60}\b(?:information|context|determine|enough|certain(?:ty)?)\b)",
    r"\bi (?:must |have to )?(?:\w+ )?(?:decline|refuse)\b|\bagainst my (?:values|guidelines"
    r"|principles)\b|\bnot (?:something )?(?:i'm|i am|what i am) (?:willing|allowed|able) to\b"
    r"|\boutside what i am allowed\b",
    r"^\W{0,3}it(?:'s| is| would be) (?:not (?:appropriate|fair|right|ethical|okay|ok|acceptable)"
    r"|inappropriate|unethical|unfair|wrong|harmful) to (?:make|assume|judge|stereotype|choose"
    r"|guess|draw|generalize)",
    r"\bich lehne es\b|\bnie mogę odpowiedzieć\b|\bno me siento cómodo\b|\bне буду отвечать\b"
    r"|控えさせて",
)
"""How models refuse besides what `refusals` knows, where they choose nothing."""

REFUSED: Final = _compiled(
    r"^\W{0,3}(?:(?:es )?tut mir leid,? (?:aber )?)?(?:als (?:ki|sprachmodell)[^.\n]{0,30}"
    r" )?(?:ich )?kann (?:ich )?(?:diese frage |dazu |das |dabei |hierzu |ihnen |dir )?(?:leider"
    r" )?(?:nicht|keine) (?:be)?(?:antwort|helf|weiterhelf|unterst)",
    r"^\W{0,3}(?:对不起|抱歉|很抱歉|對不起)[,，]?(?:但|作为[^。]{0,20})?我?(?:无法"
    r"|不能|無法|不会|拒绝)",
    r"^\W{0,3}(?:申し訳(?:ありません|ございません)|すみません|ごめんなさい)[^。]{0,40}(?:お答え"
    r"|回答|お手伝い|お応え)",
    r"^\W{0,3}(?:죄송|미안).{0,40}(?:답변|대답|도와|도움)[^.]{0,12}(?:없|어렵|않)",
    r"^\W{0,3}(?:извините|простите|к сожалению),? (?:но )?я не могу (?:ответить|помочь|на это)",
    r"^\W{0,3}(?:üzgünüm|maalesef)[^.]{0,40}(?:cevap|yardım|yanıt)[^.]{0,15}(?:em|am|ol)",
)  # fmt: skip
"""Refusals in languages that have no file of refusals."""
