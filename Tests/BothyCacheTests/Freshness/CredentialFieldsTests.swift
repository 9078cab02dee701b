import BothyCache
import HTTPTypes
import Testing

@Suite("Fields that identify a caller", .timeLimit(.minutes(5)))
struct CredentialFieldsTests {
  @Test(
    "A field with a credential is recognized by its name, in any case",
    arguments: [
      "Authorization", "Proxy-Authorization", "Authentication-Info", "Cookie", "Set-Cookie", "X-API-Key",
      "Api-Key",
      "Ocp-Apim-Subscription-Key", "X-Auth-Token", "X-Amz-Security-Token", "X-CSRF-Token", "X-Session-Id",
      "Signature",
      "DPoP", "Private-Key", "X-Pin", "X-OTP", "X-User", "X-User-Id",
    ])
  func credentials(name: String) throws {
    for spelling in [name, name.lowercased(), name.uppercased()] {
      let field = try #require(HTTPField.Name(spelling))
      #expect(CredentialFields.contains(field))
      #expect(CredentialFields.areIn([.accept: "*/*", field: "x"]))
    }
  }

  @Test(
    "A field that is equal for all callers is none",
    arguments: [
      "WWW-Authenticate", "Proxy-Authenticate", "Accept-Language", "User-Agent", "X-User-Agent",
      "ETag",
      "Cache-Control", "Content-Type", "Vary",
    ])
  func others(name: String) throws {
    let field = try #require(HTTPField.Name(name))
    #expect(!CredentialFields.contains(field))
    #expect(!CredentialFields.areIn([.accept: "*/*", field: "x"]))
  }
}
