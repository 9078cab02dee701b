import BothyServer
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// Processes that end at any request, and others that work at the same moment.
@Suite("Crashes of processes that share a bucket", .timeLimit(.minutes(5)))
struct S3CrashTests {
  private let day: Int64 = 86_400_000
  private let hour: Int64 = 3_600_000

  /// Returns the script of a process that ends at a request. The storage may still carry that one out.
  private func killed(at last: Int, carriedOut: Bool) -> @Sendable (Int) async -> FakeS3.Fault {
    { number in number < last ? .none : number == last && carriedOut ? .lostAnswer : .lostRequest }
  }

  /// Calls `body` with a process that is killed at its first request, then at its second, and so on. Ends when `body`
  /// returns true, because the process has reached its end.
  private func forEachKill(
    carriedOut: Bool, _ body: (FakeS3, VirtualTime, S3BlobStorage) async throws -> Bool
  ) async throws {
    for last in 0..<100 {
      let time = VirtualTime()
      let fake = FakeS3(time: time)
      let victim = try S3BlobStorage.under(fake, time, killed(at: last, carriedOut: carriedOut))
      if try await body(fake, time, victim) {
        #expect(last > 2)
        return
      }
    }
    Issue.record("the process has no end")
  }

  /// Runs an action of a process that may be killed. Returns true if it reached its end.
  private func survives(_ action: () async throws -> Void) async throws -> Bool {
    do {
      try await action()
      return true
    } catch is StorageUnavailable {
      return false
    }
  }

  /// Expects that the blob can be read after all sweeps, and that nothing else is left but damaged blobs.
  private func expectWhole(_ bytes: [UInt8], _ heir: S3BlobStorage, _ fake: FakeS3, _ time: VirtualTime)
    async throws
  {
    let name = S3Signature.hash(bytes)
    time.advance(by: 2 * hour)
    _ = try await heir.sweep(before: time.now - 7 * day)
    #expect(try await heir.read(name, 0..<1000, in: "hut") == bytes)
    try await heir.keep([name], in: "hut")
    _ = try await heir.sweep(before: StorageUnderTest.later)
    #expect(try await heir.read(name, 0..<1000, in: "hut") == bytes)
    #expect(try await heir.holding(of: name, in: "hut") == .whole(size: Int64(bytes.count)))
    #expect(Set(fake.kinds).subtracting(["damaged"]) == ["content"])
    #expect(fake.openUploads == 0)
  }

  @Test(
    "A kill during an upload loses no acknowledged part and leaves only swept objects",
    arguments: [12, 45], [false, true])
  func upload(count: Int, carriedOut: Bool) async throws {
    let bytes = blobBytes(count)
    let name = S3Signature.hash(bytes)
    try await forEachKill(carriedOut: carriedOut) { fake, time, victim in
      let acknowledged = Locked<Int64>(0)
      let isDone = try await survives {
        while true {
          let start = Int(acknowledged.value)
          let part = BlobPart(of: bytes, start..<min(count, start + 10))
          guard case .part(let received) = try await victim.append(part, in: "hut") else { return }
          acknowledged.value = received
        }
      }
      let heir = try S3BlobStorage.under(fake, time)
      switch try await heir.holding(of: name, in: "hut") {
      case .whole(let size): #expect(size == Int64(count))
      case .part(let received):
        #expect(!isDone)
        #expect(received >= acknowledged.value)
      }
      try await heir.upload(bytes, in: "hut")
      try await expectWhole(bytes, heir, fake, time)
      return isDone
    }
  }

  /// Promises: A-6
  @Test("A kill during a sweep leaves a blob that devices were told of", arguments: [false, true])
  func sweep(carriedOut: Bool) async throws {
    let bytes = blobBytes()
    try await forEachKill(carriedOut: carriedOut) { fake, time, victim in
      let heir = try S3BlobStorage.under(fake, time)
      let name = try await heir.upload(bytes, in: "hut")
      time.advance(by: 8 * day)
      let before = time.now - 7 * day
      let isDone = try await survives { _ = try await victim.sweep(before: before) }
      let holding = try await heir.holding(of: name, in: "hut")
      #expect(!isDone || holding == .part(0))
      try await heir.upload(bytes, in: "hut")
      try await expectWhole(bytes, heir, fake, time)
      return isDone
    }
  }

  @Test("A kill during a collection leaves a blob that devices were told of", arguments: [false, true])
  func collection(carriedOut: Bool) async throws {
    let bytes = blobBytes()
    try await forEachKill(carriedOut: carriedOut) { fake, time, victim in
      let heir = try S3BlobStorage.under(fake, time)
      let name = try await heir.upload(bytes, in: "hut")
      try await heir.keep([name], in: "hut")
      let kept = try await heir.kept(in: "hut")
      var release = BlobRelease(blobs: kept, named: [], time: time.now, lastTime: nil, grace: 2 * day)
      _ = try await heir.release(release, in: "hut")
      time.advance(by: 3 * day)
      release.time = time.now
      let due = release
      let isDone = try await survives { _ = try await victim.release(due, in: "hut") }
      let holding = try await heir.holding(of: name, in: "hut")
      #expect(!isDone || holding == .part(0))
      try await heir.upload(bytes, in: "hut")
      try await expectWhole(bytes, heir, fake, time)
      return isDone
    }
  }

  @Test("A kill while a damaged blob is quarantined lets an upload replace it", arguments: [false, true])
  func damage(carriedOut: Bool) async throws {
    let bytes = blobBytes()
    try await forEachKill(carriedOut: carriedOut) { fake, time, victim in
      let heir = try S3BlobStorage.under(fake, time)
      let name = try await heir.upload(bytes, in: "hut")
      fake.damage(name, with: blobBytes(45, 9))
      let isDone = try await survives { _ = try await victim.verifiedHolding(of: name, in: "hut") }
      #expect(try await heir.verifiedHolding(of: name, in: "hut") == .part(0))
      #expect(fake.kinds.contains("damaged"))
      try await heir.upload(bytes, in: "hut")
      try await expectWhole(bytes, heir, fake, time)
      return isDone
    }
  }

  /// The work of a process that deletes blobs, and a request that comes before one of its own requests.
  private func forEachMoment(
    grace isGrace: Bool, _ request: @escaping @Sendable (S3BlobStorage, String) async throws -> Bool
  ) async throws {
    let bytes = blobBytes()
    for moment in 0..<100 {
      let time = VirtualTime()
      let fake = FakeS3(time: time)
      let other = try S3BlobStorage.under(fake, time)
      let name = try await other.upload(bytes, in: "hut")
      if isGrace { try await other.keep([name], in: "hut") }
      var release = BlobRelease(
        blobs: try await other.kept(in: "hut"), named: [], time: time.now, lastTime: nil, grace: 2 * day)
      if isGrace { _ = try await other.release(release, in: "hut") }
      time.advance(by: 8 * day)
      release.time = time.now
      let (isPromised, hasCome) = (Locked(false), Locked(false))
      let deleting = try S3BlobStorage.under(fake, time) { number in
        guard number == moment else { return .none }
        hasCome.value = true
        isPromised.value = (try? await request(other, name)) ?? false
        return .none
      }
      if isGrace {
        _ = try await deleting.release(release, in: "hut")
      } else {
        _ = try await deleting.sweep(before: time.now - 7 * day)
      }
      guard hasCome.value else {
        #expect(moment > 4)
        return
      }
      if isPromised.value {
        time.advance(by: 2 * hour)
        _ = try await deleting.sweep(before: time.now - 7 * day)
        #expect(try await deleting.read(name, 0..<1000, in: "hut") == bytes, "moment \(moment)")
      } else {
        try await other.upload(bytes, in: "hut")
        #expect(try await deleting.read(name, 0..<1000, in: "hut") == bytes, "moment \(moment)")
      }
    }
  }

  /// Promises: A-6
  @Test("A blob that is requested while it is deleted stays or counts as missing", arguments: [false, true])
  func requested(isGrace: Bool) async throws {
    try await forEachMoment(grace: isGrace) { other, name in
      try await other.holding(of: name, in: "hut") != .part(0)
    }
  }

  @Test("A blob that is requested and named while it is deleted stays", arguments: [false, true])
  func named(isGrace: Bool) async throws {
    try await forEachMoment(grace: isGrace) { other, name in
      guard try await other.holding(of: name, in: "hut") != .part(0) else { return false }
      try await other.keep([name], in: "hut")
      return true
    }
  }

  @Test("A blob that is uploaded while an older copy is deleted stays", arguments: [false, true])
  func uploaded(isGrace: Bool) async throws {
    try await forEachMoment(grace: isGrace) { other, name in
      try await other.upload(blobBytes(), in: "hut")
      return true
    }
  }

  @Test("Two processes that complete one blob at the same moment do no harm")
  func twice() async throws {
    let bytes = blobBytes()
    let name = S3Signature.hash(bytes)
    for moment in 0..<100 {
      let time = VirtualTime()
      let fake = FakeS3(time: time)
      let other = try S3BlobStorage.under(fake, time)
      let hasCome = Locked(false)
      let one = try S3BlobStorage.under(fake, time) { number in
        guard number == moment else { return .none }
        hasCome.value = true
        _ = try? await other.upload(bytes, partSize: 7, in: "hut")
        return .none
      }
      try await one.upload(bytes, in: "hut")
      try await expectWhole(bytes, other, fake, time)
      #expect(try await one.holding(of: name, in: "hut") == .whole(size: 45))
      guard hasCome.value else { return }
    }
    Issue.record("the upload has no end")
  }
}
