import BothyStore
import BothySync
import BothyTesting
import Testing

/// The completeness and age of a result, for each container, however it was pulled.
@Suite("Completeness", .timeLimit(.minutes(5)))
struct CompletenessTests {
  private let world: SimulatedWorld
  private let device: SimulatedDevice

  /// Creates a device that subscribes to `shelf`, which is empty. The server has notes in two books.
  init() async throws {
    world = try SimulatedWorld()
    let other = try world.addDevice("other", schema: .notes)
    try other.change { transaction in
      for number in 0..<6 {
        try transaction.insert(Note(id: "T\(number)", "start"), in: number < 3 ? "book/1" : "book/2")
      }
    }
    #expect(await other.store.sync().obstacle == nil)
    var configuration = SyncOptions.quiet
    configuration.scopes = [SyncScope(container: "shelf", includesChildren: true)]
    device = try world.addDevice("own", schema: .notes, configuration: configuration)
  }

  private func answer(
    _ container: String, _ policy: ReadPolicy = .local
  ) async throws -> FetchResult<AnyRecord> {
    try await device.store.fetchResult(
      AnyQuery("Note", container: container), options: RequestOptions(readPolicy: policy))
  }

  /// Promises: N-27, S-4
  @Test("Only a container that was pulled on demand is complete, with its age")
  func onDemand() async throws {
    #expect(await device.store.sync(container: "book/1").pulled == 3)
    world.time.advance(by: 5000)
    let found = try await answer("book/1")
    #expect(found.records.count == 3 && found.isComplete && found.age == .seconds(5))
    let other = try await answer("book/2")
    #expect(!other.isComplete && other.age == nil)
  }

  /// Promises: N-28, S-82
  @Test("A read that syncs its container first is complete, with the sync's age")
  func syncThenLocal() async throws {
    let found = try await answer("book/1", .syncThenLocal)
    #expect(found.origin == .remote && found.records.count == 3)
    #expect(found.isComplete && found.age == .zero)
    #expect(try await answer("book/1").isComplete)
  }

  @Test("A removal ends the completeness of its container until the server has answered")
  func removal() async throws {
    for book in ["book/1", "book/2"] { _ = await device.store.sync(container: book) }
    try device.store.purge(.note("T0"))
    #expect(try await !answer("book/1").isComplete)
    #expect(try await answer("book/2").isComplete)
    _ = await device.store.sync(container: "book/1")
    #expect(try await answer("book/1").isComplete)
    #expect(try await answer("book/1").records.count == 3)
    try await device.store.maintenance.reset()
    for book in ["book/1", "book/2"] { #expect(try await !answer(book).isComplete) }
  }

  @Test("A container is not complete after its subscription ends, even if fetched before")
  func scopeChange() async throws {
    let scopes = ["book/1", "book/2"].map { SyncScope(container: $0, includesChildren: true) }
    try await device.store.follow(scopes)
    _ = await device.store.sync()
    for book in ["book/1", "book/2"] { #expect(try await answer(book, .remote).isComplete) }
    try await device.store.follow([scopes[1]])
    let gone = try await answer("book/1")
    #expect(gone.records.isEmpty && !gone.isComplete && gone.age == nil)
    #expect(try await answer("book/2").isComplete)
  }

  @Test("A query over all containers isn't complete after a pull of one")
  func allContainers() async throws {
    let whole = AnyQuery("Note")
    _ = await device.store.sync(container: "Note")
    #expect(try await answer("Note").isComplete)
    let local = RequestOptions(readPolicy: .local)
    #expect(try await !device.store.fetchResult(whole, options: local).isComplete)
    try await device.store.subscriptions.set([.everything])
    await device.store.sync()
    #expect(try await device.store.fetchResult(whole, options: local).isComplete)
  }
}
