// Another time on the map. The slider is made when it is first unfolded.
customElements.define('map-moment', class extends HTMLElement {
  connectedCallback() {
    const details = this.querySelector('details');
    const begin = async () => {
      const { MomentSlider } = await import('./moment-slider.js');
      details.append(new MomentSlider(this.closest('city-map'), details).element);
    };
    if (details.open) begin();
    else details.addEventListener('toggle', begin, { once: true });
  }
});
