import BothyServer
import BothyStore
import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@Suite("TLS", .timeLimit(.minutes(5)))
struct TLSTests {
  /// A key that protects nothing, with its own certificate for localhost.
  static let key = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWirRcn/w3Czmw4D8
    Bpyz/fuOm3cmw5N+HDMnRXCMKIehRANCAAR0oZd/BsaIG5gJ+izKBzHlU4ytQXA5
    5R1k2x9parOA5BwYm/SM9gJsJIO9XlIQVtkLpPkztCAF0evK/P/LpLnf
    -----END PRIVATE KEY-----
    """
  static let certificate = """
    -----BEGIN CERTIFICATE-----
    MIIBmzCCAUGgAwIBAgIUBhjJdomLxN1XvulcR/Inl3HYrgMwCgYIKoZIzj0EAwIw
    FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTE1NDAzMVoYDzIxMjYxMDI4
    MTU0MDMxWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
    PQMBBwNCAAR0oZd/BsaIG5gJ+izKBzHlU4ytQXA55R1k2x9parOA5BwYm/SM9gJs
    JIO9XlIQVtkLpPkztCAF0evK/P/LpLnfo28wbTAdBgNVHQ4EFgQU6NtLAcwt+9wP
    B5fvGlkOBceQCOYwHwYDVR0jBBgwFoAU6NtLAcwt+9wPB5fvGlkOBceQCOYwDwYD
    VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
    zj0EAwIDSAAwRQIhAIby2axceJ8zr4yIJRfQG/6LP0z0VGVTwAeSMXmhvKjeAiBf
    7BtvfQdbIFDK+NyWaBYgmEVvvVKER5QP1/nds2QfCQ==
    -----END CERTIFICATE-----
    """

  /// Another key that protects nothing, with its own certificate.
  static let otherKey = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgf+gMsp1zDQTVbtlF
    FTU86O/JqOu29n7yA9a46qsTB1ShRANCAARr3hjXziDgp97n73TJ/Q2TbANQ15Kv
    8e4XIabZq04X8C+Qsal4CI08whBnaLv9suCVfLkxbsmFyZ00dWXMWvxO
    -----END PRIVATE KEY-----
    """
  static let otherCertificate = """
    -----BEGIN CERTIFICATE-----
    MIIBmzCCAUGgAwIBAgIUf2tD23/PxQdcAQ7+m+dTUgFDn/YwCgYIKoZIzj0EAwIw
    FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNTIxMjgyNloYDzIxMjYxMTAx
    MjEyODI2WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
    PQMBBwNCAARr3hjXziDgp97n73TJ/Q2TbANQ15Kv8e4XIabZq04X8C+Qsal4CI08
    whBnaLv9suCVfLkxbsmFyZ00dWXMWvxOo28wbTAdBgNVHQ4EFgQUsgIkQFCkjLW5
    zSR/zbZgEKP1MYowHwYDVR0jBBgwFoAUsgIkQFCkjLW5zSR/zbZgEKP1MYowDwYD
    VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
    zj0EAwIDSAAwRQIgDKS0fUP2YFd5S3lBo3zjqxm5uwjkhvRXPPMGMmufv2sCIQDg
    cwNXMjBv8nAXWTceFEL3ZblNvQrPyub5oTVNHJP9+A==
    -----END CERTIFICATE-----
    """

  /// Repeats a request on a busy machine, because the client of Hummingbird's tests gives it only fifteen seconds.
  private static func patiently(_ send: () async throws -> Reply) async throws -> Reply {
    for _ in 0..<20 {
      // The last attempt throws.
      if let reply = try? await send() { return reply }
    }
    return try await send()
  }

  @Test("With a certificate and key the server speaks TLS and requires it of browsers")
  func secure() async throws {
    let folder = try TileFolderUnderTest()
    try folder.write("key.pem", Self.key)
    try folder.write("certificate.pem", Self.certificate)
    var server = try ServerUnderTest(tokens: #"[{"token":"a","principal":"ann","spaces":["*"]}]"#)
    server.configuration.port = 0
    server.configuration.tls = TLSFiles(
      certificate: folder.path + "/certificate.pem", key: folder.path + "/key.pem")
    let strict = try #require(HTTPField.Name("Strict-Transport-Security"))
    try await BothyServer(server.configuration).application().test(.ahc(.https)) { client async throws in
      let call = RouteClient(client: client)
      let reply = try await Self.patiently { try await call(.get, "/healthz") }
      #expect(reply.status == 200)
      #expect(reply.headers[strict] == "max-age=31536000")
      let refused = try await Self.patiently { try await call(.get, "/v1/spaces/hut/changes") }
      #expect(refused.status == 401)
      let read = try await Self.patiently { try await call.with(token: "a")(.get, "/v1/spaces/hut/changes") }
      #expect(read.status == 200)
    }
    try await ServerUnderTest().run { call async throws in
      #expect(try await call(.get, "/healthz").headers[strict] == nil)
    }
  }

  @Test("An unusable certificate or key stops the server before it listens, by name")
  func unusable() async throws {
    let folder = try TileFolderUnderTest()
    try folder.write("key.pem", Self.key)
    try folder.write("certificate.pem", Self.certificate)
    for (certificate, key) in [
      ("key.pem", "key.pem"), ("certificate.pem", "none.pem"), ("none.pem", "key.pem"),
    ] {
      var server = try ServerUnderTest()
      server.configuration.tls = TLSFiles(
        certificate: "\(folder.path)/\(certificate)", key: "\(folder.path)/\(key)")
      let error = #expect(throws: BothyError.self) { _ = try BothyServer(server.configuration).application() }
      #expect(error?.message.contains(certificate == "certificate.pem" ? key : certificate) == true)
    }
  }
}
