internal import HTTPTypes

/// The state that is carried from one request for a resource to the next.
struct Exchange: Sendable {
  let order: FetchOrder
  let origins: [Origin]
  /// The available part of a body that broke off.
  var partial: PartialBody?
  var requests = 0

  /// The end of one request.
  enum Ending: Sendable {
    case answer(FetchedResponse)
    case redirect(String)
    /// The server does not continue the available part, so request the whole body.
    case startOver
    case failure(LoadFailure)
  }
}

extension Fetcher {
  /// Sends a request to one host, and to the targets of its redirects.
  func perform(
    _ exchange: inout Exchange, at place: Int, for inFlight: InFlightRequest
  ) async -> Result<FetchedResponse, LoadFailure> {
    let order = exchange.order
    var (url, origin) = (order.urls[place], exchange.origins[place])
    var fields = order.fields
    var hops = 0
    while true {
      let ending: Exchange.Ending
      do throws(LoadFailure) {
        let ticket = try await gate.enter(
          origin, order, hasAlias: hops == 0 && order.urls.count > 1, for: inFlight)
        exchange.requests += 1
        var request = Request(url: url, fields: fields, hops: hops)
        ending = await send(&request, &exchange, for: inFlight)
        gate.leave(ticket, Task.isCancelled ? .abandoned : Self.verdict(ending, request.isMultiplexed))
      } catch {
        return .failure(error)
      }
      switch ending {
      case .answer(var answer):
        answer.requests = exchange.requests
        return .success(answer)
      case .failure(let failure): return .failure(failure)
      case .startOver:
        partials?.remove(order.urls[0])
        exchange.partial = nil
      case .redirect(let target):
        guard let next = Origin(target) else {
          return .failure(LoadFailure(.redirectRefused, "A redirect leads to no address of a web server."))
        }
        fields = RedirectRule.fields(fields, from: origin, to: next, secrets: order.secretFields)
        (url, origin, hops) = (target, next, hops + 1)
      }
    }
  }

  private static func verdict(_ ending: Exchange.Ending, _ isMultiplexed: Bool) -> HostQueue.Verdict {
    switch ending {
    case .answer(let answer):
      RetryPlan.verdict(
        .answer(status: answer.status, retryAfter: wait(answer.fields, answer.receivedAt)),
        isMultiplexed: isMultiplexed)
    case .redirect, .startOver: .answered(isMultiplexed: isMultiplexed)
    case .failure(let failure): RetryPlan.verdict(.failure(failure.reason), isMultiplexed: isMultiplexed)
    }
  }

  /// One request as it is sent.
  struct Request: Sendable {
    var url: String
    var fields: HTTPFields
    var hops: Int
    var isMultiplexed = false
  }

  /// Sends one request and watches for inactivity.
  private func send(
    _ request: inout Request, _ exchange: inout Exchange, for inFlight: InFlightRequest
  ) async -> Exchange.Ending {
    let pulse = InactivityTimer(clock)
    let (asked, state, timeout) = (request, exchange, exchange.order.timeout)
    enum Event: Sendable {
      case ended(Exchange.Ending, PartialBody?, isMultiplexed: Bool)
      case silent
    }
    return await withTaskGroup(of: Event.self) { group in
      group.addTask {
        var intake = ResponseReader(state, asked, pulse: pulse, inFlight: inFlight)
        let ending = await self.exchange(&intake)
        return .ended(ending, intake.partial, isMultiplexed: intake.isMultiplexed)
      }
      group.addTask {
        await pulse.silence(timeout)
        return .silent
      }
      var isSilent = false
      while let event = await group.next() {
        group.cancelAll()
        switch event {
        case .silent: isSilent = !Task.isCancelled
        case .ended(var ending, let partial, let isMultiplexed):
          exchange.partial = partial
          request.isMultiplexed = isMultiplexed
          if isSilent, case .failure = ending {
            ending = .failure(
              LoadFailure(
                .timedOut, "\(asked.url.shownAddress) did not answer for \(timeout), or too slowly."))
          }
          return ending
        }
      }
      return .failure(.cancelled)
    }
  }
}
