import BothyStore
import BothySync
import BothySyncService
import HTTPTypes
import Testing

@Suite("Containers and digests", .timeLimit(.minutes(5)))
struct ContainerRouteTests {
  @Test("A listing has counts and a validator, and is 304 until a change")
  func listing() async throws {
    let storage = try SQLiteServerStorage()
    try await ServerUnderTest(storage: storage).run { call in
      for (id, container) in [("1", "trips"), ("2", "trips/oslo"), ("3", "trips/oslo"), ("4", "tripsy")] {
        _ = try await call(
          .put, "/v1/spaces/hut/records/T/\(id)", #"{"container":"\#(container)","fields":{}}"#)
      }
      let own = try await call(.get, "/v1/spaces/hut/containers/trips")
      #expect(try own.json()["count"] == 1)
      let tree = try await call(.get, "/v1/spaces/hut/containers/trips?children=true")
      #expect(try tree.json()["count"] == 3)
      #expect(try tree.json()["position"] == 3)
      #expect(try tree.json()["containers"]?.arrayValue?.map { $0["container"] } == ["trips", "trips/oslo"])
      for path in ["trips/oslo", "trips%2Foslo"] {
        let reply = try await call(.get, "/v1/spaces/hut/containers/\(path)")
        #expect(try reply.json()["container"] == "trips/oslo")
        #expect(try reply.json()["count"] == 2)
      }
      #expect(try await call(.get, "/v1/spaces/hut/containers").json()["count"] == 4)
      let tag = try #require(tree.tag)
      let address = "/v1/spaces/hut/containers/trips?children=true"
      #expect(try await call(.get, address, nil, [.ifNoneMatch: tag]).status == 304)
      _ = try await call(.put, "/v1/spaces/hut/records/T/5", #"{"container":"other","fields":{}}"#)
      #expect(try await call(.get, address, nil, [.ifNoneMatch: tag]).status == 304)
      _ = try await call(.delete, "/v1/spaces/hut/records/T/2", nil, [.ifMatch: "*"])
      let changed = try await call(.get, address, nil, [.ifNoneMatch: tag])
      #expect(changed.status == 200)
      #expect(try changed.json()["count"] == 2)
      try await storage.compact(space: "hut", upTo: 6)
      #expect(try await call(.get, address, nil, [.ifNoneMatch: tag]).status == 200, "the tombstone is gone")
    }
  }

  @Test("The digest equals the sum that the wire computes")
  func digest() async throws {
    try await ServerUnderTest().run { call in
      _ = try await call(.put, "/v1/spaces/hut/records/T/1", #"{"fields":{"b":1,"a":"x"}}"#)
      var sum = DigestSum()
      sum.add(RecordID(type: "T", id: "1"), fields: Array(#"{"a":"x","b":1}"#.utf8))
      let reply = try await call(.get, "/v1/spaces/hut/digest")
      let digest = try JSONReader.read(reply.bytes) { try ScopeDigest(from: &$0) }
      #expect(digest == sum.digest(of: .everything, position: 1))
      let other = try await call(.get, "/v1/spaces/hut/digest?container=other&children=true")
      #expect(try other.json()["count"] == 0)
      #expect(try other.json()["digest"] == "0000000000000000")
    }
  }
}
