import BothyCache
import Testing

@Suite("Decisions of a read", .timeLimit(.minutes(5)))
struct ReadPlanTests {
  private static let states: [Usability.State?] = [nil] + Usability.State.allCases.map { $0 }

  private func plan(_ mode: ReadMode, _ state: Usability.State?, _ hasNetwork: Bool) -> ReadPlan {
    let stored = state.map {
      Usability(state: $0, age: 0, freshFor: $0 == .fresh ? 1 : -1, origin: .rule, isImmutable: false)
    }
    return ReadPlan(mode, stored: stored, hasNetwork: hasNetwork)
  }

  @Test("A read of the cache alone sends no request and marks stale entries", arguments: [true, false])
  func cacheOnly(hasNetwork: Bool) {
    #expect(plan(.cacheOnly, nil, hasNetwork) == .fail(.notCached))
    #expect(plan(.cacheOnly, .fresh, hasNetwork) == .serve(nil))
    for state in [Usability.State.staleWhileRevalidate, .staleIfError, .stale, .mustRevalidate] {
      #expect(plan(.cacheOnly, state, hasNetwork) == .serve(.notChecked))
    }
  }

  @Test("Only fresh entries are returned as fresh, in every mode, state and network")
  func neverPassedOff() {
    for mode in ReadMode.allCases {
      for state in Self.states {
        for hasNetwork in [true, false] where plan(mode, state, hasNetwork) == .serve(nil) {
          #expect(state == .fresh, "\(mode), \(hasNetwork)")
        }
      }
    }
  }

  @Test("Without a network no request is sent")
  func noNetwork() {
    for mode in ReadMode.allCases {
      for state in Self.states {
        switch plan(mode, state, false) {
        case .ask, .serveAndRefresh: Issue.record("\(mode) asks with \(String(describing: state))")
        case .serve, .fail: continue
        }
      }
    }
    #expect(plan(.cacheElseNetwork, .staleIfError, false) == .serve(.noNetwork))
    #expect(plan(.networkElseCache, .staleIfError, false) == .serve(.noNetwork))
    #expect(plan(.cacheElseNetwork, .mustRevalidate, false) == .fail(.offline))
    #expect(plan(.staleThenFresh, .mustRevalidate, false) == .serve(.noNetwork))
    #expect(plan(.networkOnly, .fresh, false) == .fail(.offline))
    #expect(plan(.revalidate, .fresh, false) == .fail(.offline))
  }

  @Test("With a network each mode sends the requests it promises")
  func network() {
    let both = ReadPlan.ask(isConditional: true, mayFallBack: true)
    let bound = ReadPlan.ask(isConditional: true, mayFallBack: false)
    let plain = ReadPlan.ask(isConditional: false, mayFallBack: false)
    for mode in ReadMode.allCases where mode != .cacheOnly {
      #expect(plan(mode, nil, true) == plain, "\(mode)")
    }
    for state in Usability.State.allCases { #expect(plan(.networkOnly, state, true) == plain) }
    #expect(plan(.cacheElseNetwork, .fresh, true) == .serve(nil))
    #expect(plan(.cacheElseNetwork, .staleWhileRevalidate, true) == .serveAndRefresh)
    #expect(plan(.cacheElseNetwork, .staleIfError, true) == both)
    #expect(plan(.cacheElseNetwork, .mustRevalidate, true) == bound)
    for state in Usability.State.allCases {
      let use = Usability(state: state, age: 0, freshFor: 0, origin: .maxAge)
      let atOnce = ReadPlan(.cacheElseNetwork, stored: use, hasNetwork: true, isAtOnce: true)
      #expect(atOnce == (state == .staleIfError ? .serveAndRefresh : plan(.cacheElseNetwork, state, true)))
      for mode in ReadMode.allCases where mode != .cacheElseNetwork {
        #expect(ReadPlan(mode, stored: use, hasNetwork: true, isAtOnce: true) == plan(mode, state, true))
      }
    }
    #expect(plan(.networkElseCache, .fresh, true) == both)
    #expect(plan(.networkElseCache, .mustRevalidate, true) == bound)
    #expect(plan(.revalidate, .fresh, true) == bound)
    #expect(plan(.staleThenFresh, .fresh, true) == .serve(nil))
    #expect(plan(.staleThenFresh, .mustRevalidate, true) == .serveAndRefresh)
  }

  @Test("An immutable entry is not requested again by a reload")
  func immutable() {
    let stored = Usability(state: .fresh, age: 0, freshFor: 1, origin: .maxAge, isImmutable: true)
    #expect(ReadPlan(.revalidate, stored: stored, hasNetwork: true) == .serve(nil))
    #expect(
      ReadPlan(.networkOnly, stored: stored, hasNetwork: true)
        == .ask(isConditional: false, mayFallBack: false))
  }
}
