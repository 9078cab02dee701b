import BothyCache
import Foundation
import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// Responds to requests from the cache, or by passing them on.
final class ProxyResponder: Sendable {
  /// The progress that a request makes without waiting.
  enum Beginning: Sendable {
    case answered(ProxyAnswer)
    /// A request that needs a disk or a network.
    case open(PlannedProxyRequest)
  }

  private let configuration: CacheProxyConfiguration
  private let cache: ResourceCache
  private let origin: String
  private let hosts: OwnHosts
  /// The targets, by their text in requests.
  private let targets = Mutex(TwoGenerationCache<String, ProxyTarget>(limit: 4 << 20))
  /// The parsed requests, by their bytes.
  private let orders = Mutex(TwoGenerationCache<ByteBuffer, PlannedProxyRequest>(limit: 4 << 20))

  init(_ configuration: CacheProxyConfiguration) throws {
    self.configuration = configuration
    cache = configuration.cache
    if case .base(let text) = configuration.source.address.form {
      origin = text.hasSuffix("/") ? String(text.dropLast()) : text
    } else {
      origin = ""
    }
    // Programs that use this as their proxy name the origin.
    let named = ProxyRequest.authority(origin).map { [String(HostName.part(of: $0))] } ?? []
    hosts = OwnHosts(configuration.allowedHosts + ["localhost", configuration.host] + named)
    try cache.register(configuration.source)
  }

  /// The largest body of a request that is passed on, in bytes.
  var bodyLimit: Int { configuration.bodyLimit }

  /// Returns the response if memory has all it needs. Waits for nothing, so event loops may call it.
  ///
  /// - Parameter bytes: the bytes of the request, if they may identify it from now on. They have to be exactly the
  ///   request's, on a connection of HTTP/1.1 that stays open after it.
  func begin(_ request: ProxyRequest, as bytes: ByteBuffer? = nil) -> Beginning {
    if let refusal = foreign(request) { return .answered(logged(refusal, request)) }
    guard let target = target(request.target) else {
      let refusal = ProxyAnswer.problem(400, "The proxy takes paths of \(origin) only.", "fwd=bypass")
      return .answered(logged(refusal, request))
    }
    let order = PlannedProxyRequest(request, target, at: configuration.now())
    if let bytes, order.plan != .pass { remember(order, as: bytes) }
    guard let resource = resource(order) else { return .open(order) }
    return .answered(logged(served(resource, order), request))
  }

  /// Returns a refusal for a request that a web page may have made a browser send. Such a request uses a name that the
  /// page lets point here, or changes something.
  private func foreign(_ request: ProxyRequest) -> ProxyAnswer? {
    if let authority = request.authority, !hosts.contains(authority) {
      return .problem(
        421, "The proxy answers under its own names only. Start it with --allow-host and this one.",
        "fwd=bypass")
    }
    if [HTTPRequest.Method.get, .head, .options].contains(request.method) { return nil }
    if let origin = request.fields[.origin], !hosts.containsOrigin(origin) {
      return .problem(403, "The proxy takes changes from no page of another site.", "fwd=bypass")
    }
    guard !request.body.isEmpty, !request.fields.contains(.contentType) else { return nil }
    return .problem(415, "Say by Content-Type what the body is.", "fwd=bypass")
  }

  /// Returns the whole framed response to a request with known bytes. Returns `nil` if the bytes are new or memory
  /// doesn't have the response. Waits for nothing.
  func answer(_ bytes: ByteBuffer, _ allocator: ByteBufferAllocator) -> ByteBuffer? {
    guard let order = orders.withLock({ $0.read(bytes) }), let resource = resource(order) else { return nil }
    let stored = resource.stored
    if order.isWhole, stored.entry.metadata.status == 200 {
      log(order.request, 200, ProxyAnswer.cache + ProxyAnswer.hit)
      let head = order.target.prepared(stored).head
      let body = stored.entry.body
      var answer = allocator.buffer(capacity: head.readableBytes + 32 + body.count)
      answer.writeImmutableBuffer(head)
      answer.writeString(String(ServedAge.seconds(of: stored.entry.metadata, at: configuration.now())))
      answer.writeStaticString("\r\n\r\n")
      body.withUnsafeBytes { _ = answer.writeBytes($0) }
      return answer
    }
    let served = logged(served(resource, order), order.request)
    var answer = ByteBuffer()
    served.framed(in: .http1_1, isLast: false).head.write(into: &answer)
    answer.writeStaticString("\r\n")
    if case .whole(let body) = served.body { answer.writeBytes(body) }
    return answer
  }

  /// Returns the resource if memory has it and it can be sent at once.
  private func resource(_ order: PlannedProxyRequest) -> CachedResource? {
    guard order.plan != .pass, let resource = cache.valueAtOnce(order.target.key, order.options),
      order.plan == .cached || resource.metadata.status == 200
    else { return nil }
    return resource
  }

  /// Returns the response to a request that was begun. Failures become responses too.
  func finish(_ order: PlannedProxyRequest) async -> ProxyAnswer {
    let answer =
      switch order.plan {
      case .cached: await cached(order)
      case .part: await part(order)
      case .pass: await pass(order, why: order.request.method == .get ? "bypass" : "method")
      }
    return logged(answer, order.request)
  }

  /// Returns the response to an invalid request or to one whose body is too large.
  func refusal(isTooLarge: Bool) -> ProxyAnswer {
    isTooLarge
      ? .problem(413, "The proxy passes on \(bodyLimit) bytes at most.", "fwd=bypass")
      : .problem(400, "The request's method or Host isn't valid. HTTP/1.1 has one Host.", "fwd=bypass")
  }

  private func target(_ text: String) -> ProxyTarget? {
    if let known = targets.withLock({ $0.read(text) }) { return known }
    guard text.hasPrefix("/"), let target = try? ProxyTarget(text, of: origin, configuration.source) else {
      return nil
    }
    targets.withLock { $0.insert(text, target, cost: ProxyTarget.cost(text)) }
    return target
  }

  private func remember(_ order: PlannedProxyRequest, as bytes: ByteBuffer) {
    // Stores a copy, because the connection's buffer is larger and is used again.
    orders.withLock {
      $0.insert(ByteBuffer(bytes: bytes.readableBytesView), order, cost: 512 + 4 * bytes.readableBytes)
    }
  }

  private func logged(_ answer: ProxyAnswer, _ request: ProxyRequest) -> ProxyAnswer {
    log(request, answer.status, answer.fields.first(name: "Cache-Status") ?? "")
    return answer
  }

  private func log(_ request: ProxyRequest, _ status: Int, _ cacheStatus: @autoclosure () -> String) {
    configuration.logger.debug(
      "request",
      metadata: [
        "method": "\(request.method.rawValue)", "target": "\(request.target)", "status": "\(status)",
        "cache": "\(cacheStatus())",
      ])
  }

  // MARK: from the cache

  private func cached(_ order: PlannedProxyRequest) async -> ProxyAnswer {
    let onlyStored = RequestDirectives(order.request.fields).onlyIfCached
    do throws(BothyError) {
      let resource = try await cache.value(
        order.target.key, onlyStored ? Self.storedOnly(order.options) : order.options)
      if onlyStored, !use(of: resource, order.request).isUsableAtOnce {
        return .problem(504, "Nothing fresh is stored, and the request wants no other.", "fwd=stale")
      }
      guard [.network, .confirmed].contains(resource.origin) else { return served(resource, order) }
      // Several requests share this response, and it is for one of them alone (RFC 9111 §5.2.2.5). Each request for the
      // resource is then passed on by itself, these too.
      if resource.storage == .notStored(.forbidden(.answerForbids)), resource.isShared {
        order.target.pass(from: configuration.now())
        return await pass(order, why: "bypass; detail=forbidden")
      }
      // A response from the cache has no cookies, and one that isn't for others is for the caller, with its cookies.
      if order.target.isShared, CredentialFields.areIn(resource.metadata.fields), !isForOthers(resource) {
        // A second request could find a link used up that is good for one.
        if resource.origin == .network, !resource.isShared { return served(resource, order, isOwn: true) }
        return await pass(order, why: "bypass; detail=cookie")
      }
      return served(resource, order)
    } catch {
      // A response that is too large for the cache is passed through piece by piece.
      if error.code == .tooLarge { return await pass(order, why: "bypass; detail=large") }
      return .failure(error, onlyStored)
    }
  }

  /// True if later requests have the same response, without one to the origin.
  private func isForOthers(_ resource: CachedResource) -> Bool {
    if case .notStored(let why) = resource.storage, why != .noDisk { return false }
    return EntryState(
      of: resource.metadata, under: configuration.source.freshness, at: configuration.now()
    ).isUsableAtOnce
  }

  private static func storedOnly(_ options: ResourceCache.Options) -> ResourceCache.Options {
    var options = options
    options.policy = .local
    return options
  }

  private func use(
    of resource: CachedResource, _ request: ProxyRequest, isPinned: Bool = false
  ) -> EntryState {
    let now = configuration.now()
    return RequestDirectives(request.fields).restrict(
      EntryState(of: resource.metadata, under: configuration.source.freshness, at: now, isPinned: isPinned),
      age: resource.metadata.age(at: now))
  }

  /// Returns a part of a stored resource. A stale one replaces a failure of the origin, as it does for the whole.
  private func part(_ order: PlannedProxyRequest) async -> ProxyAnswer {
    var stored: CachedResource?
    do throws(BothyError) {
      stored = try await cache.value(order.target.key, Self.storedOnly(order.options))
    } catch {
      configuration.logger.trace("nothing stored", metadata: ["error": "\(error)"])
    }
    guard let stored, stored.metadata.status == 200 else { return await pass(order, why: "partial-hit") }
    if use(of: stored, order.request).isUsableAtOnce { return served(stored, order) }
    let passed = await pass(order, why: "partial-hit")
    let onlyStored = RequestDirectives(order.request.fields).onlyIfCached
    guard AnswerKind.isServerError(passed.status), !onlyStored else { return passed }
    // If the disk can't say whether the entry is pinned, the server's limits apply.
    let isPinned = (try? await cache.isPinned(order.target.key)) ?? false
    return use(of: stored, order.request, isPinned: isPinned).isUsableOnError ? served(stored, order) : passed
  }

  /// Returns a response from an entry: all of it, the requested part, or that it is unchanged. With `isOwn`, it is for
  /// this caller alone, with its cookies.
  private func served(_ resource: CachedResource, _ order: PlannedProxyRequest, isOwn: Bool = false)
    -> ProxyAnswer
  {
    let metadata = resource.metadata
    let stored = isOwn ? .init(metadata, isShared: false) : order.target.prepared(resource.stored).fields
    let (age, bytes) = (ServedAge.seconds(of: metadata, at: configuration.now()), resource.stored.entry.body)
    var answer = ProxyAnswer(
      status: metadata.status, fields: stored.fields, cacheStatus: Self.status(of: resource),
      body: metadata.status == 204 ? .none : .whole(bytes))
    if resource.origin != .network || stored.hadAge || age > 0 {
      answer.fields.add(name: "Age", value: String(age))
    }
    guard metadata.status == 200 else { return answer }
    if StoredConditions.isUnchanged(metadata, for: order.request.fields) {
      answer.status = 304
      answer.body = .none
      return answer
    }
    switch ByteRange(order.request.fields[.range], of: Int64(bytes.count)) {
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
      case .stored, .staged, .notStored(.noDisk): "fwd=miss; stored"
      case .notStored: "fwd=miss"
      }
    case (.confirmed, _): "hit; fwd=stale; fwd-status=304"
    case (_, .fresh): ProxyAnswer.hit
    case (_, .stale(.refreshFailed(let error))):
      "hit; fwd=stale" + (error.status.map { "; fwd-status=\($0)" } ?? "")
    case (_, .stale): "hit; detail=stale"
    }
  }

  // MARK: passing on

  private func pass(_ order: PlannedProxyRequest, why: String) async -> ProxyAnswer {
    let (url, request) = (order.target.url, order.request)
    if [HTTPRequest.Method.get, .head].contains(request.method),
      RequestDirectives(request.fields).onlyIfCached
    {
      return .problem(504, "Nothing is stored for the request, and it wants no other.", "fwd=\(why)")
    }
    let sent = ResourceRequest(
      url, method: request.method, fields: ProxyFields.request(request.fields), body: request.body)
    do throws(LoadFailure) {
      let requestedAt = configuration.now()
      let answer = try await head(of: sent)
      await invalidate(request.method, url, answer)
      let whole = try await kept(answer, order, requestedAt: requestedAt)
      return await passed(whole, request.method, why)
    } catch {
      return .problem(error.reason == .timedOut ? 504 : 502, error.description, "fwd=\(why)")
    }
  }

  /// Returns the head of the origin's response, or throws if it doesn't arrive in time.
  private func head(of sent: ResourceRequest) async throws(LoadFailure) -> ResourceResponse {
    let (loader, timeout) = (configuration.loader, configuration.timeout)
    typealias Outcome = Result<ResourceResponse, LoadFailure>
    let outcome = await withTaskGroup(of: Outcome?.self) { group in
      group.addTask {
        do { return .success(try await loader.load(sent)) } catch { return .failure(LoadFailure.of(error)) }
      }
      group.addTask {
        // This is cancelled as soon as a response arrives.
        try? await Task.sleep(for: timeout)
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
    guard let outcome else { throw LoadFailure(.timedOut, "\(sent.url) did not answer for \(timeout).") }
    return try outcome.get()
  }

  /// Returns a response as it is, or stored and with its body read if it is also that to later GETs.
  private func kept(
    _ answer: ResourceResponse, _ order: PlannedProxyRequest, requestedAt: Int64
  ) async throws(LoadFailure) -> ResourceResponse {
    let (request, target, receivedAt) = (order.request, order.target, configuration.now())
    let isPersonal = CredentialFields.areIn(request.fields) || CredentialFields.areIn(answer.fields)
    guard target.isPlain, !(target.isShared && isPersonal),
      Invalidation.answersLaterReads(
        method: request.method, url: target.url, status: answer.status, fields: answer.fields,
        rule: configuration.source.freshness),
      let length = answer.fields[.contentLength].flatMap({ Int($0) }), length <= Self.longestKept
    else { return answer }
    let whole = try await cache.keep(target.key) { () async throws(LoadFailure) -> ReceivedResponse in
      var body = Data()
      do {
        for try await piece in answer.body {
          body.append(piece)
          if body.count > length { break }
        }
      } catch { throw LoadFailure.of(error) }
      guard body.count == length else {
        throw LoadFailure(.truncated, "\(target.url) sent \(body.count) of \(length) bytes.")
      }
      return ReceivedResponse(
        request: request.fields, status: answer.status, fields: answer.fields, body: body,
        requestedAt: requestedAt, receivedAt: receivedAt)
    }
    var stored = answer
    stored.body = AsyncThrowingStream { continuation in
      continuation.yield(whole.body)
      continuation.finish()
    }
    return stored
  }

  /// The largest body of a response to POST that is stored, in bytes. Larger ones pass in pieces.
  private static let longestKept = 1 << 20

  private func invalidate(_ method: HTTPRequest.Method, _ url: String, _ answer: ResourceResponse) async {
    let targets = Invalidation.targets(method: method, url: url, status: answer.status, fields: answer.fields)
    // An address that is not a key of this source was never stored.
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
      // The body is read to its end so that its connection can be used again. Its bytes are ignored.
      do { for try await _ in answer.body {} } catch {
        configuration.logger.trace("an answer broke off", metadata: ["error": "\(error)"])
      }
    }
    return passed
  }
}
