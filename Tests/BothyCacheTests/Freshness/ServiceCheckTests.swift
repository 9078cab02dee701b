import BothyCache
import HTTPTypes
import Testing

@Suite("Whether a server is well", .timeLimit(.minutes(5)))
struct ServiceCheckTests {
  /// Promises: B-7
  @Test("A server that says nothing has changed is well, and so is one that knows there is nothing")
  func confirmed() async throws {
    let answering = Answering(200)
    let rig = try CacheRig { _ in .init(answering.value, fields: [.eTag: "\"1\""], "map") }
    let tile = try rig.tile()
    _ = try await rig.cache.value(tile)
    answering.value = 304
    let checked = try await rig.cache.value(tile, mode: .revalidate)
    #expect(rig.lastSent(.ifNoneMatch) == "\"1\"" && checked.origin == .confirmed)
    answering.value = 404
    #expect(try await rig.cache.value(tile, mode: .revalidate).isAbsent)
  }

  @Test("A server that refuses or fails is not", arguments: [403, 429, 500, 503])
  func failing(status: Int) async throws {
    let rig = try CacheRig { _ in .init(status, "no") }
    let tile = try rig.tile()
    await #expect(throws: CacheError.self) { try await rig.cache.value(tile, mode: .revalidate) }
  }
}
