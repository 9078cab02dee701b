import Foundation
import JWTKit

/// The keys of an identity provider with every algorithm. They are made for tests and protect nothing.
struct KeysUnderTest: Sendable {
  static let rsaText = """
    -----BEGIN PRIVATE KEY-----
    MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC45NunJy9NwbNI
    xU6PUynaL/7oJzlEsljMgYbtJ+6hMfnXsKYW1qkHQbvFjTPfXiq+5r5AiwVW6Fm4
    e/C8RzSjQJjd35avPwzUSNWWThWYTX4wONxaFM0t876erZkl4jXgwNzyj3TBVMvr
    jBeQ0FuEVzXrCgYQv0lVjgDyEJeLHuQEHcc6XI78VA1mkDR8i03bM3Pfz1z3F39g
    Mwwz9huV2L/p4SS5itHCeLfwmMslYvsIFtR0SdtA2GWjUHgDsBojDzmDLU6LJeh7
    tDzRLzpQlrE+7Wx+ADhL3CvXV/CMSZ6VBYtbS0KXv8ZTADmkkim4PEPHgAQD3hFm
    B1mVc4knAgMBAAECggEARRn3g+3PrppltJ1VQpi8zBhjBwXdz/Bt4qTINitV8rXY
    YAXb1S5OBvHIyUkAKYuqoyVe1oV+rd/x5FKiAuQD5r22RDoTuZRxaYd9GAs/4+eW
    cVRW+m3Kz1FJHUnZMoDsTP8XtKnr43ObMQHvLsbIZVoowxrAcJLlSA3mCZIs6Se0
    PFBQHaT5YJ002my1EwGaQnJEroOmbZ+fIWoQMhRMErBvEBxWPrXTX99hFHwUmc+b
    /W/MfzhpFuuaOVpsR5nXrtna27TbsJ4kTS/2FViqLePy32zS2VNdn4H0tUDS3Zhz
    6jg1sIKTnuhTUWpCgdnV9Dq+XeUpCF/ImsawzBgffQKBgQDeQ/arJlefAEn6O9j/
    e1dBDO/lU8bJShrJUs273Gx8BGdmp1cT+TKC9PV+oZZt/F6vkw3I9nKbnmLweEUm
    ZFR4qakyyR7iBNycCe+xSkncyYpdQv12TW7bQ8DbramZ/jSpEhMgARj2QKtr7tFS
    BtdbGWEODBTsHiOX9oe7NLPtRQKBgQDU9NbssL4MVtaMTnhwZlfULXf3PpZ4b4PA
    F0KbjnYtHcnwuJUb9doaHmAJ3UQwKqPLuc9gxxUaoccG4bfplzmmLkKvzIW3UUrf
    WHdvNGck/PqqxYYCaABt8vudrmhQup+4u5bDfrDzgBvBfCNIgLJGea68lvEB1q4I
    Ifg0elB1ewKBgQCMddbEgg6NZNlbUcbobUHO0iYofrD5M+OJptJtDfdgyEewD8Bv
    1uOc7sDVrbgq+Xm86umjPltfDNDptpe8k1ruhglvFrp1iyz/Tygymgfjh1nxZgxX
    XsfXuRF/wleUAZm13r5HU2o69NNf+iQ9+iTOZVN4VRpDvSgxOJK+M6ghIQKBgQDK
    fknD5MfB2ezGm3MgheBr7BRPsF7KBFeGF1gJrGwouFOmJw35+Uu7XDi8CH7nQhRg
    Cr3ra0JhAYXLwGPtpRN3NjPJEDPxvUXxnCBtSKnvXPJJ4epsbVJDOjIRnJ6qbNql
    gRJ5sAU4dQ9vasfuEBn0s43425otwmHXb92goNHS8wKBgAbtb2Je2tQFten0QnSj
    bCv+ff4w4sNziUhHZKkk7KR/qbv1muPZOtnJK2RzvD1jMsd69rpnx0Wqo/LVJ4ER
    PjCtaUgUn2I3+kr38q0rBvTY5Sg+FIrrIkTzcTgwhDVb6xgXhXLqWeQgVJtTtauC
    T8tYAWJKJpYtn2ooPrkaiYr7
    -----END PRIVATE KEY-----
    """

  /// A public key of RSA with 1024 bits, which is too small.
  static let smallText = """
    -----BEGIN PUBLIC KEY-----
    MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDfuYMtew1jWw+UezXWj591QwtX
    ACndG/wJM0r4yj1cQ76PXJ38bog+9MGYJAjpZSpSskzmyi8kx/iKvRmzQCThZFBl
    gK/4s3eygrMoMxeTaWXmEZISmDXcOuLlykRNDWaL4kEO04fp8v9NKwK3JgDbfuJv
    +/H0Al+6+yy/3TNEnQIDAQAB
    -----END PUBLIC KEY-----
    """

  let rsa: Insecure.RSA.PrivateKey
  let es384 = ES384PrivateKey()
  let es512 = ES512PrivateKey()
  let edDSA: EdDSA.PrivateKey

  init() throws {
    rsa = try Insecure.RSA.PrivateKey(pem: Self.rsaText)
    edDSA = try EdDSA.PrivateKey(curve: .ed25519)
  }

  /// Returns a token signed by the key of an algorithm, under that algorithm's name.
  func token(
    _ algorithm: String, _ claims: IssuerUnderTest.Claims = .init(), kid: String? = nil
  ) async throws -> String {
    let keys = JWTKeyCollection()
    switch algorithm {
    case "RS256": await keys.add(rsa: rsa, digestAlgorithm: .sha256)
    case "RS384": await keys.add(rsa: rsa, digestAlgorithm: .sha384)
    case "RS512": await keys.add(rsa: rsa, digestAlgorithm: .sha512)
    case "PS256": await keys.add(pss: rsa, digestAlgorithm: .sha256)
    case "PS384": await keys.add(pss: rsa, digestAlgorithm: .sha384)
    case "PS512": await keys.add(pss: rsa, digestAlgorithm: .sha512)
    case "ES384": await keys.add(ecdsa: es384)
    case "ES512": await keys.add(ecdsa: es512)
    default: await keys.add(eddsa: edDSA)
    }
    var header = JWTHeader()
    header.kid = kid.map { JWKIdentifier(string: $0).string }
    if algorithm == "Ed25519" { header.alg = algorithm }
    return try await keys.sign(claims, header: header)
  }

  /// The members of a key set for an algorithm.
  func member(_ algorithm: String, kid: String) throws -> String {
    func url(_ data: Data) -> String {
      data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
    func url(_ text: String) -> String {
      text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
    let key: String
    switch algorithm {
    case "ES384":
      let point = es384.publicKey.parameters
      key = #""kty":"EC","crv":"P-384","x":"\#(url(point?.x ?? ""))","y":"\#(url(point?.y ?? ""))""#
    case "ES512":
      let point = es512.publicKey.parameters
      key = #""kty":"EC","crv":"P-521","x":"\#(url(point?.x ?? ""))","y":"\#(url(point?.y ?? ""))""#
    case "EdDSA", "Ed25519":
      key = #""kty":"OKP","crv":"Ed25519","x":"\#(url(edDSA.publicKey.rawRepresentation))""#
    default:
      let (modulus, exponent) = try rsa.publicKey.getKeyPrimitives()
      key = #""kty":"RSA","n":"\#(url(modulus))","e":"\#(url(exponent))""#
    }
    return #"{"use":"sig","kid":"\#(kid)","alg":"\#(algorithm)",\#(key)}"#
  }
}
