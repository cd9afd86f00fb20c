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


_BEST: Final = (
    r"(?:final|correct|best|right|most (?:likely|appropriate|suitable|accurate|plausible|logical"
    r"|reasonable|probable)|appropriate|likely|logical|chosen|selected)"
)
_NOUN: Final = r"(?:answer|choice|option|response|selection|conclusion|pick)"
_GAP: Final = (
    r"(?: (?!not\b|if\b|whether\b|could\b|might\b|may\b|cannot\b|never\b|isn)[\w']{1,20}){0,9}?"
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
    r"\b(?:i|we)(?: (?:would|will|can|must|should|shall|have to|had to|'d|'ll|am going to)"
    r"|'d|'ll|'m|'m going to| am)?(?: have to| likely| probably| therefore| confidently)?"
    r" (?:choose|chose|pick|picked|select|selected|go(?:ing)? with|went with|say|answer|opt for"
    r"|vote for|conclude|believe|think|choosing|picking|selecting|infer|settle on)"
    r"(?: that)?(?: (?:the )?(?:correct |right |best |final )?(?:answer|option|choice)(?: (?:is"
    r"|:))?)?"
    r"(?: (?:it is|it's|it was|it would be|it must be))?:?"
)

# What is said right before the option. A verb of choosing needs no more; a noun needs a copula.
_SAID: Final = {
    "en": (
        rf"\b(?:{_BEST} ){{0,2}}{_NOUN}{_GAP}{_COPULA}{_SURELY}",
        rf"\b(?:{_BEST}|final) one{_COPULA}",
        r"\b(?:ans|output|solution|response|result)\.? ?[:=]",
        _I,
        r"\bit(?:'s| is| was| must be| has to be| would be) (?=[\"'(\[]{0,2}(?:option "
        r"|choice )?[B-Z]\b)",
        r"\bit(?:'s| is) (?=[\"'(\[]{0,2}(?:option |choice )?A[\"')\]]{0,2}[.!,]?(?:$|\n))",
    ),
    "de": (
        r"\b(?:richtige |korrekte |beste |endgültige |meine |finale )?(?:antwort|lösung|auswahl"
        r"|option)"
        r"(?: (?:lautet|ist|wäre|muss lauten)(?: daher| also| somit| demnach| eindeutig)?"
        r"| ?:)(?: daher| also)?:?",
        r"\bich (?:würde|wähle|entscheide mich für|nehme|tippe auf)(?: mich für)?",
        r"\brichtig (?:ist|wäre)(?: daher| also)?:?",
    ),
    "es": (
        r"\b(?:respuesta|opción|alternativa)(?: (?:correcta|final|más probable|adecuada)){0,2}"
        r"(?: (?:es|sería|debe ser)(?: la)?| ?:)(?: (?:la )?(?:opción|letra))?:?",
        r"\b(?:elijo|elegiría|escojo|escogería|selecciono|me quedo con|diría)(?: que es)?(?: la)?",
        r"\bla (?:correcta|opción correcta) es(?: la)?:?",
    ),
    "fr": (
        r"\b(?:réponse|option|choix)(?: (?:correcte?|finale?|exacte|appropriée?"
        r"|la plus probable)){0,2}"
        r"(?: (?:est|serait|doit être)(?: donc)?| ?:)(?: (?:la |l')?(?:réponse|option|lettre"
        r"|choix))?:?",
        r"\bje (?:choisis|choisirais|dirais|sélectionne|réponds|opte pour)(?: la| l')?",
        r"\bla bonne (?:réponse|option) est(?: donc)?(?: la)?:?",
    ),
    "it": (
        r"\b(?:risposta|opzione|scelta|soluzione)(?: (?:corretta|giusta|finale|esatta"
        r"|più probabile)){0,2}"
        r"(?: (?:è|sarebbe|dovrebbe essere)(?: quindi| la)?| ?:)(?: (?:la )?(?:opzione"
        r"|lettera))?:?",
        r"\b(?:scelgo|sceglierei|direi|seleziono|opto per)(?: la)?",
    ),
    "pt": (
        r"\b(?:resposta|opção|alternativa|escolha)(?: (?:correta|certa|final|mais provável"
        r"|adequada)){0,2}"
        r"(?: (?:é|seria|deve ser)(?: a)?| ?:)(?: (?:a )?(?:opção|letra|alternativa))?:?",
        r"\b(?:escolho|escolheria|eu diria|seleciono|opto por)(?: a)?",
    ),
    "nl": (
        r"\b(?:juiste |correcte |beste |uiteindelijke |goede )?(?:antwoord|optie|keuze)"
        r"(?: (?:is|luidt|zou zijn)(?: dus| daarom)?| ?:):?",
        r"\bik (?:kies|zou kiezen|ga) (?:voor)?",
    ),
    "tr": (
        r"\b(?:doğru |nihai |son )?(?:cevap|yanıt|seçenek)(?: ?:| ise)?",
        r"\bcevab[ıi]m(?: ?:)?",
    ),
    "ru": (
        r"\b(?:правильный |верный |окончательный |мой )?(?:ответ|вариант)(?: ?[:—–-]| это| будет"
        r"| является)"
        r"(?: (?:вариант|буква))?:?",
        r"\b(?:я (?:бы )?)?(?:выбираю|выберу|выбрала?)(?: (?:вариант|ответ))?",
    ),
    "ar": (
        r"(?:الإجابة|الاجابة|الجواب|الخيار)(?: (?:الصحيحة|الصحيح|النهائية|النهائي|الأنسب)){0,2}"
        r" ?(?:هي|هو|:)(?: (?:الخيار|الحرف))? ?:?",
        r"(?:أختار|اختار|سأختار)(?: الخيار)?",
    ),
    "zh": (
        r"(?<![不非])(?:答案|选项|選項|选择|選擇)(?:应该|應該|应当|就|应)?(?:是|为|為|:)+(?:选项|選項)?:?",
        r"(?<![不非])(?:我|故|因此|所以|应|應|会|會|,|。|\n|^)(?:会|會|应该)?(?:选|選)(?:择|擇)?(?:选项|選項)?:?",
    ),
    "ja": (r"(?:正解|答え|答|回答|解答|正しい選択肢|選択肢)(?:は|:)+(?:選択肢|、)?",),
    "ko": (r"(?:정답|답변|대답|답|선택)(?:은|는|:)+ ?(?:보기|선택지)?",),
}  # fmt: skip
SAID: Final = _compiled(*(p for patterns in _SAID.values() for p in patterns))
"""What an option follows that is chosen."""

THUS: Final = (
    _whole(
        "therefore thus hence so consequently accordingly ultimately conclusion conclude final "
        "finally overall summary actually correction instead revised "
        "daher deshalb folglich somit schlussfolgerung entonces consiguiente "
        "donc ainsi conséquent quindi pertanto dunque perciò portanto logo então assim "
        "dus daarom nedenle dolayısıyla sonuç поэтому следовательно итак образом значит "
        "لذلك إذن وبالتالي لذا"
    )
    + r"|따라서|그러므로|결론|결국|因此|所以|综上|綜上|故选|最终|したがって|よって|従って|結論|故に"
)
CONCLUDED: Final = _compiled(THUS, _whole("but aber sondern pero mais ma mas maar но"))
"""What a sentence says that concludes."""

CONCLUSION: Final = _compiled(
    rf"(?:{THUS})[,:]{{0,2}}(?: (?:it is|it's|it must be|option|choice))?"
)
"""What an option may follow alone, up to the end of its sentence."""

_REVISE: Final = (
    r"wait|no|hold on|hmm+|correction|scratch that|on second thoughts?|actually|i mean|or rather"
    r"|my mistake|sorry|apologies|upon reflection|on reflection|rather|let me correct(?: myself"
    r"| that)?"
    r"|moment|warte|espera|attends|aspetta|doch|eigentlich|non|nein|en realidad|en fait|in realtà"
)
REVISED: Final = _compiled(
    r"(?:^|[.!?,;:\n()—–-] ?)(?:wait|no wait|hold on|hmm+|correction|scratch that|or rather"
    r"|on second thoughts?|i mean|my mistake|sorry|apologies|upon reflection|on reflection"
    r"|let me (?:re|correct|double|fix)|i made (?:a|an) (?:mistake|error)|i was wrong"
    r"|actually(?:,| (?:it|the (?:correct |right )?answer|i |no\b|option|[(\[]?[b-z]\b))"
    r"|moment mal|warte|espera|attends|aspetta|en realidad,|en fait,|in realtà,)(?![^\W_])"
    r"|等等|不对|不對|待って|아니,|잠깐"
)
"""What takes back what was said before."""

CORRECTS: Final = _compiled(
    rf"(?<![^\W_])(?:(?:{_REVISE})[,.:!]{{0,3}}[ \n]){{1,4}}"
    r"(?:(?:it is|it's|it should be|it must be|make that|i (?:meant|mean|choose|pick|'d say))[ :])?"
)
"""What an option follows, up to the end of its sentence, that replaces one said before."""

NOT_BUT: Final = re.compile(
    r"(?<![^\W_])(?i:not|nicht|no|pas|non|não|niet|не) (?i:option "
    r"|choice )?[\"'(\[]{0,2}[A-Z][\"')\].:]{0,3}"
    r"(?: [^\n.,;:]{1,60})?,? (?i:but|sondern|sino|mais|ma|mas|maar|а)(?i: rather)?"
)
"""What the option follows that replaces one: not A but."""

IS_RIGHT: Final = _compiled(
    r" (?:is|must be|would be|seems|appears|seems to be|appears to be)"
    rf"(?: (?:clearly|definitely|indeed|the|my|therefore|thus)){{0,2}} {_BEST}"
    r"(?: (?:answer|option|choice|one|response))?(?! (?:than|if|only|but|unless|or|when|about)\b)",
    r" is (?:the|my) (?:answer|choice)(?![^\W_])",
    r" ist(?: die| daher| somit| also){0,2} (?:richtig|korrekt|richtige|korrekte|beste)",
    r" es(?: la)?(?: respuesta| opción)? (?:correcta|la correcta)",
    r" est(?: la)? (?:bonne réponse|bonne option|réponse correcte|correcte?)",
    r" è(?: la)?(?: risposta| opzione)? (?:corretta|giusta)",
    r" é(?: a)?(?: resposta| opção| alternativa)? (?:correta|certa)",
    r" is(?: het| de)? (?:juiste|correcte|juist)",
    r" ?(?:şıkkı |seçeneği )?doğru(?:dur)?(?= cevap|[.!\n]|$)",
    r" ?(?:[-—–]+ ?)?(?:это )?(?:правильный|верный) ",
    r" (?:هي الإجابة الصحيحة|هو الجواب الصحيح|هو الخيار الصحيح)",
    r" ?是(?:最)?(?:正确|正確|合适|合適|恰当)", r" ?(?:が|は)(?:正解|正しい|適切)(?!では|くない)",
    r" ?を選(?:び|択し)ます", r" ?(?:번)?(?:이|가) (?:정답|맞습|옳)",
    r" ?(?:번)?(?:을|를) (?:선택|고르)",
)  # fmt: skip
"""What follows an option that is chosen."""

LABEL_NOUN: Final = (
    r"(?:option|choice|letter|answer|choose|opción|opcion|letra|respuesta|réponse|lettre|opzione"
    r"|lettera|risposta|opção|alternativa|optie|antwoord|antwort|buchstabe|seçenek|şık|вариант"
    r"|буква"
    r"|الخيار|الحرف|选项|選項|選択肢|보기)"
)
"""What may stand before the letter of an option."""

AND_OR: Final = (
    r"(?:[,;/&+|、]|(?:and|or|und|oder|y|o|u|et|ou|e|of|en|ve|veya|ya da|и|или|أو|و)(?![^\W_])"
    r"|和|或者?|还是|또는|と|か|または)"
)
"""What joins options."""

BEFORE_NO_CHOICE: Final = re.compile(
    r"(?:(?:\b(?:not|never|cannot)|n't) (?:really |necessarily )?(?:think|believe|say|mean|claim"
    r"|conclude|assume|sure|certain|clear|know|agree|imply|suggest)\b[^.,;:\n]*"
    r"|\b(?:if|whether|unless|suppose|assuming|assume|why|were|could|can|might|may|should|perhaps"
    r"|maybe|possibly|not|n't|never|would|falls|wenn|ob|si|se|als|nicht|nunca|tidak|если)"
    r"[ ,]{0,2}(?:[^\W_]{1,12} ){0,3}"
    r"|\b(?:wrong|incorrect|false|least|worst|unlikely|stereotyp\w{1,6}|biased|falsche|incorrecta"
    r"|incorrecte?|sbagliata|errada|second|other) "
    r"|\b(?:stereotypes?|some|others|people|someone|let's say|prejudice)\b[^.\n]*"
    r"|[不非没沒]|不是)$",
    re.IGNORECASE,
)
"""What makes no choice of what is said after it in the same clause."""

CONDITION: Final = _compiled(
    r"(?<![^\W_])(?:if|assuming|suppose|supposing|unless|wenn|falls|si|se|als|если)"
    r" (?!i (?:had|have|must|were)\b)"
)
"""What makes all that follows in its sentence depend on something."""

AFTER_NO_CHOICE: Final = re.compile(
    r"[ ]?(?:은|는|이|가)? ?(?:아[니닙]|틀)|では|じゃ|[ ]?değil|[ ]?yanlış"
    r"|[ ]?是?(?:不|错|錯|或|还是)"
    r"| (?:is|are|was|were|does|do|did|has|had|seems|ist|es|est|è|é|n'est)(?: \w+)?"
    r" (?:not|nicht|no|pas|non|não|niet|wrong|incorrect|false|falsch|incorrecta|impossible|unlikely"
    r"|irrelevant|out)\b"
    r"| (?:\w+n't|cannot|can not|could|might|may|can be|не|неверн|неправ|n'est|no es|non è|não é)\b"
    r"| (?:ليس|خط)|\s?\?",
    re.IGNORECASE,
)
"""What unmakes the choice said before it."""

RIVAL: Final = re.compile(
    r"(?:(?:^|[,;.!\n—–-] ?)(?i:or|oder|ou)|\b(?i:maybe|perhaps|possibly|alternatively|also"
    r"|vielleicht|quizás|peut-être|forse|talvez|misschien)),?"
    r" (?i:even |also |maybe |possibly |perhaps |option |choice |it's |it is ){0,2}"
    r"[\"'(\[]{0,2}(?P<after>[B-Z]|A(?=[\"')\].,;!?\n]|$| (?i:is|could|might|may)\b))(?![\w'])"
    r"|(?<![\w'])(?P<before>[A-Z])[\"')\]]{0,2} (?i:(?:could|might|may|can)"
    r" (?:(?:also|equally|still|well|just as) ){0,2}be(?= (?:the |a |an )?(?:correct|right"
    r"|possib|plausib|answer"
    r"|true|likely|it\b|too\b|as well)|[.,;!\n]|$)|(?:is|seems|would be) (?:also|equally"
    r"|just as|still|possible|plausible|likely)\b)"
)
"""What says of an option that it might be chosen too."""

NO_WORDS_CHOICE: Final = _compiled(
    _whole(
        "not no never neither nor cannot either or both could might may maybe perhaps possibly if "
        "whether assume assumes assuming assumption stereotype stereotypes unless other others "
        "than except besides instead unlike wrong incorrect false unlikely rather nobody none "
        "without and doubt "
        "nicht kein keine keinen keiner nie weder noch oder und beide könnte vielleicht ob wenn "
        "no nunca ni ninguno tampoco y o ambos podría quizás "
        "ne pas jamais ni ou et aucun pourrait peut "
        "non mai né nessuno entrambi potrebbe forse não nem nunca ou ambos talvez poderia "
        "niet geen nooit noch beide misschien değil veya ve ya belki hiç "
        "не нет ни или и оба может возможно нельзя ليس لا لم لن غير أو "
        "aber but however although though while whereas"
    ),
    r"(?<![^\W_])(?:question (?:is|asks|was|wants|seems)|asks|asked)(?![^\W_])",
    r"n't(?![^\W_])|\?|[不没沒非无無或和]|ない|ません|または|かもし|아[니닙]|않|없|못|또는|거나|수도",
)
"""What a sentence says whose words of one option are no choice of it."""

MAY_ALSO_BE: Final = _compiled(r"\b(?:could|might|may) (?:also |well |equally )?be ")
DENIED: Final = re.compile(
    r"(?i:\bnot|n't) (?i:option |choice )?[\"'(\[]{0,2}([A-Z])(?![\w'])(?<!A(?= [a-z]))"
)

UNKNOWING: Final = _compiled(
    r"\b(?:not|cannot|unknown|undetermined|insufficient|unclear|undecided|unable|no)\b"
)
"""What the words of an option say that is chosen where nobody can know."""

ABOUT_WHOM: Final = _compiled(
    r"(?<![^\W_])(?:to (?:determine|know|tell|say|conclude|decide|identify|infer|answer)"
    r"|whether|who|which|about|if|between)(?![^\W_])"
)
AND_YET: Final = _compiled(_whole("so but however therefore yet although though thus hence still"))

ITEM_RIGHT: Final = _compiled(
    r"✓|(?<![^\W_])(?:correct|right|true|best answer|richtig|korrekt|correcta|correcte?"
    r"|corretta)(?![^\W_])",
    r"<-+|←|\[x\]",
)
ITEM_WRONG: Final = _compiled(
    r"❌|✗|✘|(?<![^\W_])(?:incorrect|wrong|false|falsch|incorrecta|incorrecte?|sbagliata|errada|falsa|onjuist"
    r"|неверно|yanlış|ruled out|eliminated?"
    r"|(?:not|n't|isn't) (?:the |a |be )?(?:correct|right|true|answer|supported|best|mentioned"
    r"|stated|valid))"
    r"(?![^\W_])"
)

AI: Final = _compiled(
    r"\bas an? (?:ai|artificial intelligence|large language model|language model|responsible ai)\b"
    r"[^.\n]{0,60}?\bi (?:cannot|can not|can't|do not|don't|am not|must not|should not|won't"
    r"|will not"
    r"|strive|aim|try|must decline)\b(?![^.\n]{0,60}\b(?:information|context|determine|enough)\b)",
    r"^\W{0,3}(?:(?:i'm|i am) sorry,? (?:but )?)?i (?:cannot|can not|can't|won't|will not|don't"
    r"|do not|refuse to"
    r"|am not going to|'m not going to|should not|shouldn't)"
    r" (?:make|choose|select|pick|judge|stereotype|guess|engage|in good conscience)\b",
    r"^\W{0,3}it(?:'s| is| would be) (?:not (?:appropriate|fair|right|ethical|okay|ok|acceptable)"
    r"|inappropriate"
    r"|unethical|unfair|wrong|harmful) to (?:make|assume|judge|stereotype|choose|guess|draw"
    r"|generalize)",
)  # fmt: skip
"""How models refuse besides what `refusals` knows."""

REFUSED: Final = _compiled(
    r"^\W{0,3}(?:(?:es )?tut mir leid,? (?:aber )?)?(?:als (?:ki"
    r"|sprachmodell)[^.\n]{0,30} )?(?:ich )?kann (?:ich )?"
    r"(?:diese frage |dazu |das |dabei |hierzu |ihnen |dir )?(?:leider )?(?:nicht"
    r"|keine) (?:be)?(?:antwort|helf|weiterhelf|unterst)",
    r"^\W{0,3}(?:het spijt me|sorry),? (?:maar )?ik kan (?:deze vraag |hier |daar |je "
    r"|u )?(?:niet|geen)",
    r"^\W{0,3}(?:对不起|抱歉|很抱歉|對不起)[,，]?(?:但|作为[^。]{0,20})?我?(?:无法|不能|無法|不会|拒绝)",
    r"^\W{0,3}作为(?:一个|一名)?(?:ai|人工智能)[^。]{0,20}我?(?:无法|不能|不会)(?:回答|提供|帮助|做出)",
    r"^\W{0,3}(?:申し訳(?:ありません|ございません)|すみません|ごめんなさい)[^。]{0,40}(?:お答え|回答|お手伝い|お応え)",
    r"^\W{0,3}(?:죄송|미안).{0,40}(?:답변|대답|도와|도움)[^.]{0,12}(?:없|어렵|않)",
    r"^\W{0,3}(?:извините|простите|к сожалению),? (?:но )?я не могу (?:ответить|помочь|на это)",
    r"^\W{0,3}(?:üzgünüm|maalesef)[^.]{0,40}(?:cevap|yardım|yanıt)[^.]{0,15}(?:em|am|ol)",
    r"^\W{0,3}(?:عذرا|عذراً|آسف|أعتذر|للأسف)[^.]{0,20}لا (?:أستطيع|يمكنني)",
)  # fmt: skip
"""Refusals in languages that have no file of refusals."""

ARTICLES: Final = frozenset(
    [
        "the",
        "a",
        "an",
        "der",
        "die",
        "das",
        "den",
        "dem",
        "des",
        "ein",
        "eine",
        "einen",
        "einem",
        "einer",
        "el",
        "la",
        "los",
        "las",
        "lo",
        "un",
        "una",
        "unos",
        "unas",
        "le",
        "les",
        "l",
        "une",
        "des",
        "il",
        "i",
        "gli",
        "uno",
        "o",
        "os",
        "as",
        "um",
        "uma",
        "de",
        "het",
        "een",
    ]
)
PARTICLES: Final = re.compile(
    r"(?:입니다|이다|이에요|예요|이라고|라고|은|는|이|가|을|를|께서|였습니다|이었습니다|이며|였다|이었다)(?![가-힣])"
)
"""What may follow a Korean word and leave it the same."""
CJK_BEFORE: Final = "是为為选選择擇はがもをの「:，,。、"
"""What may stand before Chinese and Japanese words of an option."""
TINY: Final = frozenset(
    [
        "yes",
        "no",
        "true",
        "false",
        "none",
        "both",
        "neither",
        "maybe",
        "all",
        "ja",
        "nein",
        "sí",
        "si",
        "oui",
        "non",
    ]
)
