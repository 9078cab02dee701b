import BothyServer
import BothyStore
import BothySync
import BothySyncService
import Foundation
import HTTPTypes
import HummingbirdTesting
import Logging
import Testing

@Suite("Files that are read again while the server runs", .timeLimit(.minutes(5)))
struct ReloadTests {
  private static func schema(_ version: Int, _ fields: String) -> String {
    #"{"version":\#(version),"types":[{"name":"Todo","fields":[\#(fields)]}]}"#
  }

  private static let title = #"{"name":"title","type":"string"}"#
  private static let note = #"{"name":"note","type":"string","optional":true}"#

  @Test("A changed schema is served at once, and keeps fields of earlier ones")
  func schema() async throws {
    let folder = try TileFolderUnderTest()
    try folder.write("schema.json", Self.schema(1, Self.title))
    let log = LogUnderTest()
    let server = try reading(folder, log)
    try await server.application().test(.router) { client async throws in
      let call = RouteClient(client: client)
      let noted = #"{"fields":{"title":"t","note":"n"}}"#
      #expect(try await call(.put, "/v1/spaces/hut/records/Todo/1", noted).status == 422)
      server.lookAtSchema()
      #expect(try await call(.put, "/v1/spaces/hut/records/Todo/1", noted).status == 422)
      try folder.write("schema.json", Self.schema(2, Self.title + "," + Self.note))
      server.lookAtSchema()
      #expect(try await call(.put, "/v1/spaces/hut/records/Todo/1", noted).status == 201)
      try folder.write("schema.json", Self.schema(3, Self.title))
      server.lookAtSchema()
      #expect(try await call(.put, "/v1/spaces/hut/records/Todo/2", noted).status == 201)
    }
    #expect(log.lines.filter { $0.message == "the schema was read again" }.count == 2)
  }

  @Test("A schema that changes while the server starts is noticed")
  func early() async throws {
    let folder = try TileFolderUnderTest()
    try folder.write("schema.json", Self.schema(1, Self.title))
    let server = try reading(folder, LogUnderTest()) {
      try folder.write("schema.json", Self.schema(2, Self.title + "," + Self.note))
    }
    try await server.application().test(.router) { client async throws in
      let call = RouteClient(client: client)
      server.lookAtSchema()
      let noted = #"{"fields":{"title":"t","note":"n"}}"#
      #expect(try await call(.put, "/v1/spaces/hut/records/Todo/1", noted).status == 201)
    }
  }

  @Test("A schema that devices don't fit is refused with one log line")
  func refused() async throws {
    let folder = try TileFolderUnderTest()
    try folder.write("schema.json", Self.schema(1, Self.title))
    let log = LogUnderTest()
    let server = try reading(folder, log)
    try await server.application().test(.router) { client async throws in
      let call = RouteClient(client: client)
      for text in [
        Self.schema(2, Self.title + #",{"name":"count","type":"int"}"#),
        Self.schema(2, #"{"name":"title","type":"int"}"#), "{", "",
      ] {
        try folder.write("schema.json", text)
        let before = log.lines.count { $0.level == .error }
        server.lookAtSchema()
        server.lookAtSchema()
        #expect(log.lines.count { $0.level == .error } == before + 1, "\(text)")
        let reply = try await call(
          .put, "/v1/spaces/hut/records/Todo/\(before)", #"{"fields":{"title":"t"}}"#)
        #expect(reply.status == 201, "\(text): \(reply.text)")
      }
    }
    #expect(log.text.contains("what was read before stays in force"))
    #expect(log.text.contains("Todo.count is new since schema 1"))
  }

  /// Returns a server with the schema of a file in the folder.
  ///
  /// - Parameter change: is called after the schema was read.
  private func reading(
    _ folder: TileFolderUnderTest, _ log: LogUnderTest, before change: () throws -> Void = {}
  ) throws -> BothyServer {
    let files = SchemaFiles(newest: folder.path + "/schema.json") { path in
      Array(try Data(contentsOf: URL(filePath: path)))
    }
    var rules = AccessRules()
    rules.schema = try files.schema()
    try change()
    var server = try ServerUnderTest(rules: rules)
    server.configuration.schemaFiles = files
    server.configuration.logger = log.logger()
    return BothyServer(server.configuration)
  }

  @Test("A new certificate is for new connections, and one without its key is refused")
  func certificate() throws {
    let folder = try TileFolderUnderTest()
    let files = TLSFiles(certificate: folder.path + "/certificate.pem", key: folder.path + "/key.pem")
    try folder.write("key.pem", TLSTests.key)
    try folder.write("certificate.pem", TLSTests.certificate)
    let certificate = try ServerCertificate(files)
    let log = LogUnderTest()
    let watch = FileWatch(
      [files.certificate, files.key], subject: "the TLS certificate", logger: log.logger(),
      reload: { try certificate.reload() })
    let first = certificate.context
    watch.look()
    #expect(certificate.context === first && log.lines.isEmpty)
    try folder.write("certificate.pem", TLSTests.otherCertificate)
    watch.look()
    #expect(certificate.context === first, "the key is that of the certificate before")
    #expect(log.lines.map(\.level) == [.error])
    try folder.write("key.pem", TLSTests.otherKey)
    watch.look()
    #expect(certificate.context !== first)
    #expect(log.lines.map(\.message).last == "the TLS certificate was read again")
  }
}
