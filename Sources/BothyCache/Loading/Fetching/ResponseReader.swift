internal import Foundation
internal import HTTPTypes

/// Reads the response to one request. If its body breaks off, keeps the part that came.
struct ResponseReader {
  let order: FetchOrder
  let request: Fetcher.Request
  let pulse: InactivityTimer
  let inFlight: InFlightRequest
  /// Before the request, the part to continue. After it, the part that came, if it broke off and can be continued.
  var partial: PartialBody?
  var isMultiplexed = false

  init(_ exchange: Exchange, _ request: Fetcher.Request, pulse: InactivityTimer, inFlight: InFlightRequest) {
    order = exchange.order
    // A part that the caller itself requests can't be continued.
    partial = exchange.order.fields[.range] == nil ? exchange.partial : nil
    self.request = request
    self.pulse = pulse
    self.inFlight = inFlight
  }
}

extension Fetcher {
  func exchange(_ intake: inout ResponseReader) async -> Exchange.Ending {
    let order = intake.order
    let begun = intake.partial
    let sent = ResourceRequest(
      intake.request.url, method: order.method,
      fields: begun?.asking(intake.request.fields) ?? intake.request.fields,
      body: order.body)
    let requestedAt = clock.wall()
    do throws(LoadFailure) {
      let response = try await response(to: sent)
      let receivedAt = clock.wall()
      intake.pulse.beat()
      intake.isMultiplexed = response.isMultiplexed
      if order.followsRedirects, order.isSafe {
        switch RedirectRule.step(
          from: sent.url, status: response.status, fields: response.fields, hops: intake.request.hops,
          admits: order.admitsRedirect)
        {
        case .deliver: break
        case .follow(let url):
          await drain(response)
          return .redirect(url)
        case .refuse(let failure): throw failure
        }
      }
      if let begun, response.status == 206 || response.status == 416 {
        guard let total = begun.total(continuedBy: response) else { return .startOver }
        var answer = try await collect(response, &intake, continuing: begun, total: total)
        (answer.requestedAt, answer.receivedAt) = (requestedAt, receivedAt)
        return .answer(answer)
      }
      if response.status == 206, order.fields[.range] == nil {
        throw LoadFailure(.truncated, "\(sent.url.shownAddress) answered with a part of what was asked for.")
      }
      var answer = try await collect(response, &intake, continuing: nil, total: nil)
      // A page of a network that wants a sign-in first has failed before, so the part stays for later.
      if begun != nil, response.status == 200 { partials?.remove(order.urls[0]) }
      // An error response does not concern the part that came earlier.
      if response.status != 200 { intake.partial = begun }
      (answer.requestedAt, answer.receivedAt) = (requestedAt, receivedAt)
      return .answer(answer)
    } catch {
      return .failure(error)
    }
  }

  private func response(to request: ResourceRequest) async throws(LoadFailure) -> ResourceResponse {
    do { return try await loader.load(request) } catch { throw LoadFailure.of(error) }
  }

  /// Reads a short body to its end, so that the connection can be reused.
  private func drain(_ response: ResourceResponse) async {
    var count = 0
    do {
      for try await piece in response.body {
        count += piece.count
        if count > 1 << 16 { return }
      }
    } catch {
      // The redirect is known, so the rest of the response does not matter.
    }
  }

  /// Reads the body to its end. If it breaks off and can be continued, the part that came is left in `intake`.
  private func collect(
    _ response: ResourceResponse, _ intake: inout ResponseReader, continuing begun: PartialBody?,
    total: Int64?
  ) async throws(LoadFailure) -> FetchedResponse {
    let (order, url) = (intake.order, intake.order.urls[0])
    var body = BodyBuffer(
      begun ?? PartialBody(url: url, response, isGet: order.method == .get), begun?.bytes ?? Data(),
      files: partials, limit: order.bodyLimit)
    // From here on, the intake's partial body comes from this response.
    intake.partial = nil
    let isBodiless = order.method == .head || response.status == 204 || response.status == 304
    let said = response.wasCoded ? nil : response.announcedLength
    let expected = isBodiless ? nil : total ?? said
    do {
      if let expected, expected > order.bodyLimit { throw Self.tooLarge(order) }
      if let expected { body.expect(Int(clamping: expected)) }
      for try await piece in response.body {
        if body.bytes.isEmpty, let mismatch = mismatch(order, response, piece) { throw mismatch }
        body.append(piece)
        if body.isOverLimit { throw Self.tooLarge(order) }
        intake.pulse.beat(piece.count)
        intake.inFlight.report(ResourceCache.Progress(received: Int64(body.bytes.count), expected: expected))
      }
      // The stream of a cancelled task ends early without an error.
      if Task.isCancelled, expected != Int64(body.bytes.count) { throw LoadFailure.cancelled }
      if let expected, expected != Int64(body.bytes.count) {
        throw LoadFailure(
          .truncated,
          "\(intake.request.url.shownAddress) announced \(expected) bytes and sent \(body.bytes.count).")
      }
    } catch {
      let failure = LoadFailure.of(error)
      intake.partial = body.breakOff(
        keeping: failure.reason == .cancelled || RetryPlan.mayPass(.failure(failure.reason)))
      throw failure
    }
    body.finish()
    var fields = response.fields
    if let begun, let total { fields = begun.fields(continuedBy: response.fields, total: total) }
    var answer = FetchedResponse(
      status: begun == nil ? response.status : 200, fields: fields, body: body.bytes, url: intake.request.url,
      requestedAt: 0, receivedAt: 0, wasResumed: begun != nil,
      endsByClosing: response.endsByClosing && expected == nil && !isBodiless)
    answer.wasCoded = response.wasCoded
    return answer
  }

  private static func tooLarge(_ order: FetchOrder) -> LoadFailure {
    LoadFailure(
      .tooLarge(limit: order.bodyLimit),
      "\(order.urls[0].shownAddress) is larger than the \(order.bodyLimit) bytes that the source's limit allows. Nothing was kept."
    )
  }

  /// Returns a failure if the first bytes show another kind of content, so that the rest need not be read.
  private func mismatch(_ order: FetchOrder, _ response: ResourceResponse, _ piece: Data) -> LoadFailure? {
    guard response.status == 200, let expectation = order.expectation,
      case .mediaType(let type)? = expectation.mismatch(fields: response.fields, body: piece)
    else { return nil }
    return LoadFailure(
      .unexpectedType(type),
      "\(order.urls[0].shownAddress) brought \(type), not what the source has. A network that wants a sign-in first does so."
    )
  }
}
