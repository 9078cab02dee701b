import BothyCache
import HTTPTypes
import Testing

@Suite("Checks of a server's health", .timeLimit(.minutes(5)))
struct ServiceCheckTests {
  /// Promises: B-7
  @Test("A 304 or a negative response means that the server is well")
  func confirmed() async throws {
    let answering = Answering(200)
    let rig = try CacheRig { _ in .init(answering.value, fields: [.eTag: "\"1\""], "map") }
    let tile = try rig.tile()
    _ = try await rig.cache.value(tile)
    answering.value = 304
    let checked = try await rig.cache.value(tile, policy: .remote)
    #expect(rig.lastSent(.ifNoneMatch) == "\"1\"" && checked.origin == .confirmed)
    answering.value = 404
    #expect(try await rig.cache.value(tile, policy: .remote).isAbsent)
  }

  @Test("A refusal or a failure means that the server isn't well", arguments: [403, 429, 500, 503])
  func failing(status: Int) async throws {
    let rig = try CacheRig { _ in .init(status, "no") }
    let tile = try rig.tile()
    await #expect(throws: BothyError.self) { try await rig.cache.value(tile, policy: .remote) }
  }
}
