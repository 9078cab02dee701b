import BothyCache
import Foundation
import HTTPTypes
import Logging
import NIOHTTP1

/// Answers one request after the other: from the cache, or by passing it on.
final class ProxyResponder: Sendable {
  /// How far a request can be answered without waiting.
  enum Beginning: Sendable {
    case answered(ProxyAnswer)
    /// What is to be done for it, which takes a disk or a network.
    case open(ProxyPlan, ProxyTarget)
  }

  private let configuration: CacheProxyConfiguration
  private let cache: ResourceCache
  private let origin: String
  /// By what stood in requests.
  private let targets = MemoryTier<String, ProxyTarget>(MemoryLimits(bytes: 8 << 20))

  init(_ configuration: CacheProxyConfiguration) throws {
    self.configuration = configuration
    cache = configuration.cache
    if case .base(let text) = configuration.source.address {
      origin = text.hasSuffix("/") ? String(text.dropLast()) : text
    } else {
      origin = ""
    }
    try cache.register(configuration.source)
  }

  /// The largest body of a request that is passed on.
  var bodyLimit: Int { configuration.bodyLimit }

  /// The answer if it takes no more than a look at memory: waits for nothing, so that event loops may call it.
  func begin(_ request: ProxyRequest) -> Beginning {
    guard let target = target(request.target) else {
      let refusal = ProxyAnswer.problem(400, "The proxy takes paths of \(origin) only.", "fwd=bypass")
      return .answered(logged(refusal, request))
    }
    let plan = ProxyPlan(request.method, request.fields, isPlain: target.isPlain)
    guard plan != .pass, let resource = cache.valueAtOnce(target.key, Self.options(for: request)),
      plan == .cached || resource.metadata.status == 200
    else { return .open(plan, target) }
    return .answered(logged(served(resource, target, request), request))
  }

  /// The answer to a request that was begun; failures are answers too.
  func finish(_ plan: ProxyPlan, _ target: ProxyTarget, _ request: ProxyRequest) async -> ProxyAnswer {
    let answer =
      switch plan {
      case .cached: await cached(target, request)
      case .part: await part(of: target, request)
      case .pass: await pass(target.url, request, why: request.method == .get ? "bypass" : "method")
      }
    return logged(answer, request)
  }

  /// The answer to a request that is none, or has more of a body than is passed on.
  func refusal(isTooLarge: Bool) -> ProxyAnswer {
    isTooLarge
      ? .problem(413, "The proxy passes on \(bodyLimit) bytes at most.", "fwd=bypass")
      : .problem(400, "The request has a method that is none.", "fwd=bypass")
  }

  private func target(_ text: String) -> ProxyTarget? {
    if let known = targets.read(text, now: 0) { return known }
    guard text.hasPrefix("/"), let target = try? ProxyTarget(text, of: origin, configuration.source) else {
      return nil
    }
    targets.insert(text, target, cost: ProxyTarget.cost(text))
    return target
  }

  private func logged(_ answer: ProxyAnswer, _ request: ProxyRequest) -> ProxyAnswer {
    configuration.logger.debug(
      "request",
      metadata: [
        "method": "\(request.method.rawValue)", "target": "\(request.target)", "status": "\(answer.status)",
        "cache": "\(answer.fields.first(name: "Cache-Status") ?? "")",
      ])
    return answer
  }

  // MARK: from the cache

  private static func options(for request: ProxyRequest, _ mode: ReadMode = .cacheElseNetwork) -> ReadOptions
  {
    ReadOptions(mode: mode, fields: ProxyFields.cached(request.fields))
  }

  private func cached(_ target: ProxyTarget, _ request: ProxyRequest) async -> ProxyAnswer {
    let onlyStored = RequestDirectives(request.fields).onlyIfCached
    do throws(CacheError) {
      let resource = try await cache.value(
        target.key, Self.options(for: request, onlyStored ? .cacheOnly : .cacheElseNetwork))
      if onlyStored, !use(of: resource, request).isUsableAtOnce {
        return .problem(504, "Nothing fresh is stored, and the request wants no other.", "fwd=stale")
      }
      return served(resource, target, request)
    } catch {
      // What is too large to be kept goes through piece by piece.
      if error.code == .tooLarge { return await pass(target.url, request, why: "bypass; detail=large") }
      return .problem(Self.status(of: error, onlyStored), error.message, "fwd=miss")
    }
  }

  private func use(of resource: CachedResource, _ request: ProxyRequest) -> Usability {
    let now = configuration.now()
    return RequestDirectives(request.fields).restrict(
      Usability(of: resource.metadata, under: configuration.source.freshness, at: now),
      age: resource.metadata.age(at: now))
  }

  private func part(of target: ProxyTarget, _ request: ProxyRequest) async -> ProxyAnswer {
    do throws(CacheError) {
      let resource = try await cache.value(target.key, Self.options(for: request, .cacheOnly))
      if use(of: resource, request).isUsableAtOnce, resource.metadata.status == 200 {
        return served(resource, target, request)
      }
    } catch {
      configuration.logger.trace("nothing stored", metadata: ["error": "\(error)"])
    }
    return await pass(target.url, request, why: "partial-hit")
  }

  /// An answer out of an entry: all of it, the part that was asked for, or that nothing has changed.
  private func served(
    _ resource: CachedResource, _ target: ProxyTarget, _ request: ProxyRequest
  ) -> ProxyAnswer {
    let metadata = resource.metadata
    let stored = target.fields(of: resource.stored)
    let age = ServedAge.seconds(of: metadata, at: configuration.now())
    let bytes = resource.stored.entry.body
    var answer = ProxyAnswer(
      status: metadata.status, fields: stored.fields, cacheStatus: Self.status(of: resource),
      body: metadata.status == 204 ? .none : .whole(bytes))
    if resource.origin != .network || stored.hadAge || age > 0 {
      answer.fields.add(name: "Age", value: String(age))
    }
    guard metadata.status == 200 else { return answer }
    if StoredConditions.isUnchanged(metadata, for: request.fields) {
      answer.status = 304
      answer.body = .none
      return answer
    }
    switch ByteRange(request.fields[.range], of: Int64(bytes.count)) {
    case .all: break
    case .part(let range):
      answer.status = 206
      answer.fields.add(
        name: "Content-Range", value: "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes.count)")
      answer.body = .whole(bytes.dropFirst(Int(range.lowerBound)).prefix(range.count))
    case .unsatisfiable:
      answer.status = 416
      answer.fields.add(name: "Content-Range", value: "bytes */\(bytes.count)")
      answer.body = .whole(Data())
    }
    return answer
  }

  private static func status(of resource: CachedResource) -> String {
    switch (resource.origin, resource.freshness) {
    case (.network, _):
      switch resource.storage {
      case .stored, .notStored(.noDisk): "fwd=miss; stored"
      case .notStored: "fwd=miss"
      }
    case (.confirmed, _): "hit; fwd=stale; fwd-status=304"
    case (_, .fresh): "hit"
    case (_, .stale(.refreshFailed(let error))):
      "hit; fwd=stale" + (error.status.map { "; fwd-status=\($0)" } ?? "")
    case (_, .stale): "hit; detail=stale"
    }
  }

  // MARK: passing on

  private func pass(_ url: String, _ request: ProxyRequest, why: String) async -> ProxyAnswer {
    let sent = ResourceRequest(
      url, method: request.method, fields: ProxyFields.request(request.fields), body: request.body)
    do throws(LoadFailure) {
      let answer = try await head(of: sent)
      await invalidate(request.method, url, answer)
      return await passed(answer, request.method, why)
    } catch {
      return .problem(error.reason == .timedOut ? 504 : 502, error.description, "fwd=\(why)")
    }
  }

  /// The head of the origin's answer, if it comes in time.
  private func head(of sent: ResourceRequest) async throws(LoadFailure) -> ResourceResponse {
    let (loader, timeout) = (configuration.loader, configuration.timeout)
    typealias Outcome = Result<ResourceResponse, LoadFailure>
    let outcome = await withTaskGroup(of: Outcome?.self) { group in
      group.addTask {
        do throws(LoadFailure) { return .success(try await loader.load(sent)) } catch {
          return .failure(error)
        }
      }
      group.addTask {
        // Called off as soon as there is an answer.
        try? await Task.sleep(for: timeout)
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
    guard let outcome else { throw LoadFailure(.timedOut, "\(sent.url) did not answer for \(timeout).") }
    return try outcome.get()
  }

  private func invalidate(_ method: HTTPRequest.Method, _ url: String, _ answer: ResourceResponse) async {
    let targets = Invalidation.targets(method: method, url: url, status: answer.status, fields: answer.fields)
    // An address that is no key of this source was never stored.
    let keys = targets.compactMap { try? configuration.source.key(url: $0) }
    guard !keys.isEmpty else { return }
    do {
      try await cache.remove(keys)
    } catch {
      configuration.logger.error(
        "what a request outdated could not be removed", metadata: ["error": "\(error)"])
    }
  }

  private func passed(
    _ answer: ResourceResponse, _ method: HTTPRequest.Method, _ why: String
  ) async -> ProxyAnswer {
    var passed = ProxyAnswer(
      status: answer.status, fields: ProxyFields.answer(answer.fields),
      cacheStatus: "fwd=\(why); fwd-status=\(answer.status)", body: .pieces(answer.body))
    if answer.status == 204 || answer.status == 304 { passed.fields.remove(name: "Content-Length") }
    if method == .head || answer.status == 204 || answer.status == 304 {
      passed.body = .none
      // Read to its end, so that its connection can be used again; nothing of it is wanted.
      do { for try await _ in answer.body {} } catch {
        configuration.logger.trace("an answer broke off", metadata: ["error": "\(error)"])
      }
    }
    return passed
  }

  // MARK: failing

  private static func status(of error: CacheError, _ onlyStored: Bool) -> Int {
    if onlyStored || error.code == .timedOut || error.code == .offline { return 504 }
    if error.code == .closed || error.code == .storage { return 503 }
    if let status = error.status, status >= 500 { return status }
    return 502
  }
}
