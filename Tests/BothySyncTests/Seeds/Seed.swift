import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Synchronization

/// Helpers of the tests that describe the behaviour of the older systems.
extension Pair {
  /// Creates two devices with one of the presets, and waits that a test repeats exactly.
  static func preset(
    _ preset: SyncOptions, sharing ids: [String] = [], rules: AccessRules = AccessRules(),
    schema: StoreSchema = .notes, _ change: (inout SyncOptions) -> Void = { _ in }
  ) async throws -> Pair {
    let pair = try Pair(schema: schema, rules: rules) { configuration in
      let quiet = configuration
      configuration = preset
      configuration.backoff = quiet.backoff
      change(&configuration)
    }
    guard !ids.isEmpty else { return pair }
    for id in ids { try pair.b.insert(id, "start") }
    await pair.b.store.sync(.both)
    await pair.a.store.sync(.both)
    pair.a.remote.forgetRequests()
    pair.b.remote.forgetRequests()
    return pair
  }

  /// Changes a title on B and sends the change to the server.
  func otherDeviceSets(_ title: String, _ id: String = "T1") async throws {
    await b.store.sync(.both)
    try b.retitle(id, title)
    await b.store.sync(.both)
  }
}

extension RequestOptions {
  static func reading(_ policy: ReadPolicy) -> RequestOptions { RequestOptions(readPolicy: policy) }
  static func saving(_ policy: WritePolicy) -> RequestOptions { RequestOptions(writePolicy: policy) }
}

extension SimulatedDevice {
  /// Returns the titles that a read by the policy finds, in the order of ids. Nil reads as configured.
  func titles(_ policy: ReadPolicy? = nil) async throws -> [String] {
    let options = RequestOptions(readPolicy: policy)
    return try await store.fetchResult(RecordQuery<Note>().order(SortKey("id")), options: options).records
      .map(
        \.title)
  }
}

/// Lines that callbacks record, in order.
final class Journal: Sendable {
  private let written = Mutex<[String]>([])

  var lines: [String] { written.withLock { $0 } }

  func note(_ line: String) { written.withLock { $0.append(line) } }
}

/// A remote whose queries a test answers.
final class ScriptedAnswer: CompleteRemote {
  private let remote: any RemoteStorage
  private let script = Mutex<@Sendable () async -> [ServerRecord]>({ [] })

  var answer: @Sendable () async -> [ServerRecord] {
    get { script.withLock { $0 } }
    set { script.withLock { $0 = newValue } }
  }

  init(_ remote: any RemoteStorage) { self.remote = remote }

  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] { await answer() }

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    try await remote.exchange(request)
  }

  func count(_ query: AnyQuery) async throws(RemoteError) -> Int { try await remote.count(query) }

  func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest { try await remote.digest(scope) }

  func notifications() -> AsyncThrowingStream<Void, any Error> { remote.notifications() }
}
