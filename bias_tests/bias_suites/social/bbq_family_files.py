"""The files of BBQ's family: KoBBQ, EsBBQ, CaBBQ, CBBQ, MBBQ and JBBQ, pinned."""

from collections.abc import Mapping
from typing import Final

from pytest_bias.data import DataFile, Source

KOBBQ: Final = Source("naver-ai/KoBBQ", "0dd165aeaaacd1bd46c63513a9b2e9875eb6dce7", "MIT")
SPAIN: Final = Source(
    "langtech-bsc/EsBBQ-CaBBQ", "ee2e0f6123f718b735fc445d368d92acd2c223be", "Apache-2.0"
)
CBBQ: Final = Source("YFHuangxxxx/CBBQ", "95eaf2eeaa0b936f3e97e3424f134e9d7655da98", "CC-BY-SA-4.0")
MBBQ: Final = Source(
    "Veranep/MBBQ", "adaa40172cdcf52eb403c01954a1aef8b0b1e97d", "no clear licence", consent=True
)
JBBQ: Final = Source("ynklab/JBBQ_data", "ver.1", "no redistribution", consent=True)

_KOBBQ: Final = "6eacb1c0ff995c74b26183d368c500193454b7bf96a2a0f9462641e57972aab7"
_SPAIN_CATEGORIES: Final = (
    "Age",
    "DisabilityStatus",
    "Gender",
    "LGBTQIA",
    "Nationality",
    "PhysicalAppearance",
    "RaceEthnicity",
    "Religion",
    "SES",
    "SpanishRegion",
)
_SPAIN: Final = {
    "es": (
        "05fd57cf59460c9a2a3d96b49f1377a1a5bd8cf13daac87e1ff13d851b473c1c",
        "d9fcc40a97d8f8fc081d6733dcff262c37f1b771076c84020429cbd28302e2a0",
        "340242eabe1133de12e4f5496c547cdd78e7a7bb4c6514b21b48cae0fdc362e0",
        "4008b83ea7fcb3e4400667ea501501fed1e8eed4c5fe7064e65361476d793b39",
        "1c95c5ad8b0cf7f93848aa156d9a3ddba8ec330a1078633df750ccabbc259ea3",
        "920cdfd8814470ff3204eacbb36c5cd5376b12a3cbeafca4812318c1f26bbe5a",
        "c9fd61928e9f5d86ac8081274e9f6e622725742c89a94a0ad25b14e14290e21d",
        "4f224a33a744217651e62b95d9c5a2ed2eb1c9ddb694d42b37af715221542b71",
        "64164f05bf6ab7ceea00a35d465c2cf8bf7364c7045131c2136d8aab49bd4270",
        "cc9d1ad1dbb0e4dbefcd10205f3cb764d0ea53f64b82c2c03dd3cbe0ba9d1002",
    ),
    "ca": (
        "da477fc5c6897ee3424204c396cec66b92b85ff615b122c93fdd054dda9b0d09",
        "44ce612d6cd03d0cd10bc27d4c5cbb0495a7a1fa84aaf1f3f04dad2a6f28b4f8",
        "35aea9aeefd666965026ef1b7d02f53959cc9ec2b548d5227914526d9396035d",
        "89a531f80e0e1d875c4efec64390bcede78ca30a3c8f2aeaba9300b6c020b1f7",
        "3d586021e8d00ed005fc3ddcf66df6b8d2deec2b7d1e771bc9136b1287e64ae2",
        "f48c9e288feb01a7fc84a5a7022ceb88dec88da615bdf3c3ba011ecf5e77cb88",
        "5f6869eb397d56730921adf1eeec1abb25a4dcf3a541175295c46b5151c2bec9",
        "ff2bdbcaecb2ad96558f961edd671b209447a2cd21802d069530eb9216e789b2",
        "b2d4880f5d7aaeb96033b97051f30b8259b397b65326100d331dd15b45428b38",
        "efe6aac654ddd8b1a154d5c5f69186c2c5b6ce411978863f0881fc3f3cd37be4",
    ),
}
"""Language to the SHA-256 of each category."""
_CBBQ: Final = {
    "SES": (
        "0353f5f266d9df356bb3cde1d0ffdf91ceae7c61684547f6fb10c9e77d328fc0",
        "b594dd003ee77bee015abe0743f9db005d7cba87e8c70c231feebd09ed0e25ea",
    ),
    "age": (
        "e1fa287f341dda4ce92bb59fa5118453eb2e377c8acad133ad8a4c8c545042d1",
        "1679aa8f8940ab6a4916700d933ecc4feae8700b76d2a55d8a4b2ba4bd586889",
    ),
    "disability": (
        "df2bf69b6435509a5047727b79e52f614ccdcd0c1bcc483de89317d285587e47",
        "5bfcdde2499af53463bcde7955fcbd0f0bf4095adb271fd973b0768741dc1faf",
    ),
    "disease": (
        "db7a22c7cd1c8b4cb68142c2979542fa74116bc7d3bc0e600291957205650488",
        "42cdbc7c56b9c727768b725d081b8a051f01ebcf382c7d483bbc7598be296ef2",
    ),
    "educational_qualification": (
        "eb4af36eb0b20df3b34cacff42dd41935d778feb5af983e23b32dd17cdbb8383",
        "9a768070396300d0699ccfb311c2a3e37e8dba3f884dfe9a9cf14c92aa12eedd",
    ),
    "ethnicity": (
        "15ad06f2d17e9cab20b72430d31a15f7efb019eda5de76124464dec262e8cacf",
        "fc53047bed0c1dd15746da7cb46dad044e881c20d3eaba95f249be2a02f1a11c",
    ),
    "gender": (
        "f928100a0a4651028272cadc339b2595b7775467c37029e433b58de79ac7b069",
        "ace38bcc96a3e4312ca16ffdc389e64f742e48eeaae165d58645c8826a68967b",
    ),
    "household_registration": (
        "a9a2fbca009e6ee68dfdb0225fbd3154081a4baab49f43d2170571485ad01693",
        "d5187208634b83d1fac349c87573d0596296cca5edf0aa94a1f0d983ba00041f",
    ),
    "nationality": (
        "38f8e8d728c31e8ef7886b76fca59e30fa61c23acb8017bc166c4313748c5b25",
        "c3484d37feb3f51032adeeeae2ba4fe5b21ce87d8361ec69d1de9e8b9b69a608",
    ),
    "physical_appearance": (
        "7e5ac96789e8165561f592e70c710808852ae05543ae05a2bf7f743eb2471fb7",
        "d91367169b851120566f3c67be98ae22e6361c2c7f859dc0441092c3a515d068",
    ),
    "race": (
        "be2c9d6bb67c51c0a50e0f21b0d4ebd69b7ed63fd9db79a4290b3cf50a1c30b3",
        "d2282bf36fb1590ad4fb70836fad70f5759a37608367226191148b73bd99b5a4",
    ),
    "region": (
        "322246e5eea71fff77984141544cde6b3668e05f8792d8955a4c0594acae3d18",
        "dbbd0bf0137a69cd9334592156e8d8d871d7bc09dd45c4d059e4864c21f3ca88",
    ),
    "religion": (
        "d557642a4b979f35d1c4bff26c6b2a3223564fa7ce67ee738ac8574505ae977b",
        "f4fcbd80db93339916f453c561233704bb402d91a1093b20b024f55f64753e36",
    ),
    "sexual_orientation": (
        "a73703cdff2f199a8e6263e8d10a544a1b122890e79020f92a46a0a89ef99eb5",
        "1dc1de61dca1bff90bcbb050284d9a5f45a865792f95fde52a8bf6cd3ef9957f",
    ),
}
"""Category to the SHA-256 of its ambiguous and its disambiguated rows."""
_MBBQ_CATEGORIES: Final = (
    "Age",
    "Disability_status",
    "Gender_identity",
    "Physical_appearance",
    "SES",
    "Sexual_orientation",
)
_MBBQ: Final = {
    "en": (
        "15d34d6ba4dc7e8f2fc2362ef9a3a37ce148e04b2edd3e3700eac49e4c10871c",
        "003424ffe5ebf26302c2cae5af9afd37acd1ff55a86b36412e6bc0b59e1fdc88",
        "b6e9be11cb0d6c85bb305867e1b74338ff0ec2dfebc02760778a4364130a3d92",
        "be6d82ef5799133444cd79a16b70f88621f8b30f2545d2973b11d1f8e363df32",
        "6603a4d2ac5293b2718b13d439361a9b8a16e6be8f600b150b8ab9c0d432efb9",
        "d61426a4634a8eecc44ca258c3d70b9730dadcefc625bd5890f1207269d7b660",
    ),
    "control_en": (
        "3c4f73e2d38c5a8874af5cc6a8816373510a97936111d6c5784b30419c7a88fe",
        "0c7b587acd7a60dee4d8f1d6e507593b045b0091882afa008715a8ef3b72a708",
        "5e868f6d4d777ba42470e62a91eae89e166b7252ebbbb005a4bc8239cf8c5a10",
        "b6e72dbd119120b6c5da9c2a03eac6675dc07083bc0366e954dcd00fc726c45c",
        "807778b3f974ed3873e12d3930a64cac2c8eff66ba9b3e35d2c25b7d51fb6535",
        "c4c5e4c4e7d08f2c3247ea791d73746497cd1c0e1837deb1e0511efbb5a1c0fc",
    ),
    "es": (
        "44995575aa60e19e6db1bc9f262b2aaba07f563d7394eecab6475ad478a191cd",
        "157202c79093cb182957ef316f477fb20d03a9ef6774078b5c35a1b6aac8db3b",
        "ba872fd284130a3deb6bdc62ad77002b89c67a4622e3d7cc268f233e0df555f6",
        "423d34b206aad8586041a4e5ba77781cce887af8b5d0fbe70414b34757e317e8",
        "7108b3c6809e1557aa366060961d02f30dc6112f2d35863faf745f92fb9ef089",
        "8e75c1e1931fc288b91c9418b35267429f8bbdd2848e04feeaa531fecccf14d9",
    ),
    "control_es": (
        "edd59bb493f1f9bcd0fccfb9e6eff46395183cfd75f70af1676eb898a8294d78",
        "a1745b9e88e4894ef91dbbd102166b2d426cd127ac58766ad00a43c782f5d864",
        "cc6cf1ba62980541b2d031c0273e2614da938a355bfe2872d97beb6b8da05a12",
        "2936c5fd2a30241488e7c771823ab95f48c53861b000c5b9c78553730d1cec9f",
        "139988d225bb860b668c114f5fba687129a89fbe33d2255ddc09e67534bbff5a",
        "9235674ce1b6df3e2f36a3cfe0e0d3262e7514e5ee565cc7b4f0adef9bb69f99",
    ),
    "nl": (
        "bf4e0a636be38c0c0dbbac638baaabcc1e25206e7c785ef9b0077ccb2bfbbfa1",
        "d0f7bc310cce987d5fff853a922061c0a60d54a5ba6a1d627ca11e21b4112ac5",
        "d2f5a41d1f6d1fdbb05c4ac4fa887f62bd0c135cc3f2e3756bc7531e7e87903e",
        "a9dca56989be0c98bf2ca0150196241ed39794867c551e82741462d8b91fe890",
        "19969eb8bbd8f783d40ee42db2bccfda9bf3be132a325b60ef37affdb2ee51a7",
        "894e58600a28bb0063c775517daff5054a827ef3a6c4fdd17605a2703edb6e49",
    ),
    "control_nl": (
        "e7ccbfa5a583658ee381a2f78ceae5eca5dd43dfd5ba6acdd29b3c76312cd75e",
        "a3159fa78c76b93626d435bd4f4ed646a5861e4d4ad0a08d2eeaec94082c2bbd",
        "784e1fa5db6200752dd132e8f1d1a4d09599592f1156bf21869b7273af28ccfd",
        "70ce0324ccf682a14d35c898b85626315429b8128da2ffad307bbce5ed6ae9d4",
        "653f33ffa7c516b462d2e8d1a3038a9d7c413b22e09d2b77c621477b2e763838",
        "22fe68db0fd8e2ba315b487186135688d14633950b146ffcb37ec2ba9a44473f",
    ),
    "tr": (
        "98ef9e3b899cee7faca8ad4f56e7976a757738babaedc36063a0c15da4c27bf8",
        "44c5cd2a8b4b638b6b6c41e251ec579be82eb4beb9d2133140c9bb268270e720",
        "1e2564322b1f4bce1f3fbddbf766e9c7871465a5eeac27d8911c47d7d0dffadd",
        "fd1aadb74dcc3ea24eb3932d4db2784836786844e1f7fb68972a0552035ab69f",
        "7db84dfac8ce1031ac7812c51b88b66f79c00b8b0d2646e0ce47035775aa214f",
        "e4f17323bd73fbba9df7f3957697d86bdfd2774ed579b838772f7a486612001c",
    ),
    "control_tr": (
        "316227f5bb0e8423ad27302a9bd894a4e27152e9fc08c6244934592d12e70a5a",
        "eb18cc5eed09610986715b9cbb411bd1499b4cfa1fd07f87e563bdb0dfe3ebfb",
        "5cecd8e9c6d8fda9e235f91366a237f9aef7988d61361b64621f8394c2c6f9bc",
        "94659b331035f55b73ae91f3e2a009c5eb8c1cf5347e0ebaa349a5eed4372db7",
        "3f586dd34ee2f21d1f1f80923b576d44ac6b702eb96a25ece545c6a10216c31a",
        "b1e3d11e3b05ec51eaae98c665cf70a712f56323456d66cc3751e68f3d503f91",
    ),
}
"""End of a file's name to the SHA-256 of each category."""
_JBBQ_CATEGORIES: Final = (
    "Age",
    "Disability_status",
    "Gender_identity",
    "Physical_appearance",
    "Sexual_orientation",
)

Files = Mapping[str, tuple[DataFile, ...]]
"""Category to its files."""

KOBBQ_FILES: Final[Files] = {
    "KoBBQ": KOBBQ.files(f"{KOBBQ.raw}/data", {"kobbq/KoBBQ_test_samples.tsv": _KOBBQ})
}
"""All categories are in one file."""


def of_spain(language: str) -> Files:
    """Return the files of EsBBQ or CaBBQ."""
    return {
        name: SPAIN.files(SPAIN.raw, {f"esbbq/data_{language}/{name}.full.csv": digest})
        for name, digest in zip(_SPAIN_CATEGORIES, _SPAIN[language], strict=True)
    }


def of_china() -> Files:
    """Return the files of CBBQ: of each category the ambiguous rows, then the others."""
    kinds = ("ambiguous", "disambiguous")
    return {
        name: CBBQ.files(
            CBBQ.raw,
            {
                f"cbbq/data/{name}/{kind}/{kind}.csv": digest
                for kind, digest in zip(kinds, both, strict=True)
            },
        )
        for name, both in _CBBQ.items()
    }


def of_mbbq(end: str) -> Files:
    """Return the files of MBBQ of a language; nobody has said that they may be passed on."""
    return {
        name: (DataFile(f"mbbq/data/{name}_{end}.jsonl", None, digest),)
        for name, digest in zip(_MBBQ_CATEGORIES, _MBBQ[end], strict=True)
    }


def of_japan() -> Files:
    """Return the files of JBBQ, which its authors send to whoever fills in a form."""
    return {name: (DataFile(f"jbbq/{name}.jsonl", None, None),) for name in _JBBQ_CATEGORIES}
