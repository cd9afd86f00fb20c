#!/bin/sh
# Sign a model of four files with the real tool: pip install model-signing==1.1.1 pyopenssl; sh sign.sh
# The private keys are thrown away; tests/evidence/test_model_signing.py has what the files hold.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cd "$work"
mkdir -p model/sub
printf 'weights' > model/model.safetensors
printf '{"a": 1}\n' > model/config.json
printf '{}\n' > model/tokenizer.json
printf 'x\n' > model/sub/more.txt
printf 'no\n' > model/.gitattributes
key() { openssl ecparam -genkey -name "$1" -noout -out key.pem && openssl ec -in key.pem -pubout -out "$here/$2.pub" 2>/dev/null; }
for curve in prime256v1:p256 secp384r1:p384 secp521r1:p521; do
  key "${curve%:*}" "${curve#*:}"
  model_signing sign key --private_key key.pem --signature "$here/${curve#*:}.sig" model
done
key prime256v1 single
model_signing sign key --private_key key.pem --signature "$here/single.sig" model/model.safetensors
key prime256v1 unused
openssl req -x509 -new -key key.pem -subj /CN=own -days 36500 -out certificate.pem \
  -addext keyUsage=critical,digitalSignature -addext extendedKeyUsage=codeSigning
model_signing sign certificate --private_key key.pem --signing_certificate certificate.pem \
  --certificate_chain certificate.pem --signature "$here/certificate.sig" model
rm -r "$here/unused.pub" "$work"
