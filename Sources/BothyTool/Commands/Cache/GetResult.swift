import BothyCache
import BothyStore
import Foundation

/// The result of reading one resource, as printed.
struct GetResult: Sendable {
  let asked: AskedKey
  /// The resource, with its bytes only if it is the only one, to save memory.
  let resource: CachedResource?
  let size: Int
  let shown: Shown?
  let error: BothyError?
  /// The time until the first answer.
  var waited = Duration.zero

  /// The printed properties of a resource.
  struct Shown: Sendable {
    var origin: CachedResource.Origin
    var freshness: CachedResource.Freshness
    var age: Int64
    var status: Int
    var isAbsent: Bool
    var storage: CachedResource.StorageOutcome
  }

  /// The time to wait for the refresh of a stale resource before the process ends.
  private static let patience = Duration.milliseconds(500)

  /// Reads a resource. If the policy starts a refresh, waits for it briefly, or to its end under `localThenRemote`.
  static func of(
    _ asked: AskedKey, _ options: ResourceCache.Options, _ cache: ResourceCache, holdsBytes: Bool
  ) async
    -> GetResult
  {
    var last: CachedResource?
    var problem: BothyError?
    let start = ContinuousClock.now
    var waited: Duration?
    let (stream, continuation) = AsyncStream.makeStream(of: Result<CachedResource, BothyError>.self)
    let work = Task {
      do throws(BothyError) {
        for try await reading in cache.values(asked.key, options) { continuation.yield(.success(reading)) }
      } catch {
        continuation.yield(.failure(error))
      }
      continuation.finish()
    }
    var timer: Task<Void, Never>?
    for await reading in stream {
      waited = waited ?? start.duration(to: .now)
      switch reading {
      case .success(let reading): last = reading
      case .failure(let error): problem = error
      }
      guard timer == nil, options.policy != .localThenRemote else { continue }
      timer = Task {
        // Cancelled when the refresh has ended.
        guard (try? await Task.sleep(for: patience)) != nil else { return }
        continuation.finish()
        work.cancel()
      }
    }
    timer?.cancel()
    guard let last else {
      return GetResult(asked: asked, resource: nil, size: 0, shown: nil, error: problem)
    }
    let freshness = problem.map { CachedResource.Freshness.stale(.refreshFailed($0)) } ?? last.freshness
    let shown = Shown(
      origin: last.origin, freshness: freshness, age: last.age, status: last.metadata.status,
      isAbsent: last.isAbsent, storage: last.storage)
    return GetResult(
      asked: asked, resource: holdsBytes ? last : nil, size: last.bytes?.count ?? 0, shown: shown, error: nil,
      waited: waited ?? .zero)
  }

  /// The reason if no usable resource was read, otherwise `nil`.
  var failure: String? {
    if let error {
      let name = asked.key.description
      return error.message.contains(name) ? error.message : "\(name): \(error.message)"
    }
    if shown?.isAbsent == true { return "\(asked.key): The server has said that it does not exist." }
    return nil
  }

  var text: String {
    guard let shown else { return "failed  \(asked.key)" }
    if shown.isAbsent { return "\(shown.origin.rawValue)  absent (\(shown.status))  \(asked.key)" }
    let seconds = (Double(shown.age) / 1000).shown
    var text = "\(shown.origin.rawValue)  \(Self.state(shown))  age \(seconds) s  \(size) bytes  \(asked.key)"
    if case .notStored(let obstacle) = shown.storage { text += "  not kept: \(Self.reason(obstacle))" }
    return text
  }

  func write(to writer: inout JSONWriter) {
    writer.member("source", asked.key.source.name)
    writer.member("path", asked.key.path)
    writer.member("url", asked.source.publicURL(for: asked.key))
    writer.member("origin", shown?.origin.rawValue)
    writer.member("state", shown.map { $0.freshness.isStale ? "stale" : "fresh" })
    writer.member("reason", shown.flatMap { Self.staleReason($0.freshness)?.name })
    writer.member("age", shown.map { Double($0.age) / 1000 })
    writer.member("bytes", shown == nil ? nil : size)
    writer.member("status", shown?.status)
    writer.member("absent", shown?.isAbsent)
    writer.member("stored", shown.map { $0.storage == .stored || $0.storage == .staged })
    writer.member("milliseconds", Double(waited / .microseconds(1)) / 1000)
    writer.key("error")
    guard let error else { return writer.null() }
    writer.object { writer in
      writer.member("code", "\(error.code)")
      writer.member("message", error.message)
    }
  }

  private static func state(_ shown: Shown) -> String {
    guard let reason = staleReason(shown.freshness) else { return "fresh" }
    return "stale (\(reason.text))"
  }

  private static func staleReason(_ freshness: CachedResource.Freshness) -> (name: String, text: String)? {
    guard case .stale(let reason) = freshness else { return nil }
    switch reason {
    case .notChecked: return ("notChecked", "the server was not asked")
    case .refreshing: return ("refreshing", "the server is being asked")
    case .noNetwork: return ("noNetwork", "the device is offline")
    case .refreshFailed(let error): return ("refreshFailed", "\(error.code)")
    }
  }

  private static func reason(_ obstacle: CachedResource.StorageObstacle) -> String {
    switch obstacle.kind {
    case .forbidden(let reason): "forbidden (\(reason))"
    case .tooLarge: "too large for the limits"
    case .diskFull: "the disk is full"
    case .unconfirmed: "no other tile has confirmed the network"
    case .removed: "removed meanwhile"
    case .otherSource: "another source has entries under its id"
    case .noDisk: "no disk"
    case .undecodable: "it isn't a value of the type that is read"
    case .failed(let text): text
    }
  }
}
